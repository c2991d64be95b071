"""What every step's pod has in common: whom it runs as, its credentials, its cache and its queue."""

from kfp import dsl, kubernetes
from pydantic import BaseModel, ConfigDict

USER = 10001
"""User and group of the images (images/)."""
CREDENTIALS = "hat-store-credentials"
"""Secret with the store's keys; without it, boto3 finds an identity elsewhere, such as the service account's."""
CREDENTIAL_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
HOME = "/var/lib/hat"
"""HAT_HOME in the images."""


class PodSettings(BaseModel):
    """Settings of a profile for all of its pods on a cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cache_claim: str = ""
    """PersistentVolumeClaim that steps share as HAT_HOME, so that a model is downloaded once: the first pod that
    needs it locks a file and fetches it, the others wait. It must be writable for the images' user. Empty: each
    pod has a cache of its own."""
    queue: str = ""
    """Kueue's LocalQueue that admits the pods. Empty: Kueue leaves them alone."""


def set_up_pod(task: dsl.PipelineTask, settings: PodSettings) -> None:
    """Make a step's pod fit the restricted Pod Security Standard and give it what the profile says."""
    kubernetes.set_security_context(task, run_as_user=USER, run_as_group=USER, run_as_non_root=True)
    kubernetes.use_secret_as_env(task, CREDENTIALS, {key: key for key in CREDENTIAL_KEYS}, optional=True)
    if settings.cache_claim:
        kubernetes.mount_pvc(task, settings.cache_claim, HOME)
    if settings.queue:
        kubernetes.add_pod_label(task, "kueue.x-k8s.io/queue-name", settings.queue)
