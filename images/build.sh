#!/usr/bin/env bash
# Builds the images from the working tree's tracked files: images/build.sh [cpu] [train] [serve]
#
# Tags: hat-python-<family>:<first 12 digits of the code version>, which `hat run --runner docker` looks for.
# From the environment:
#   DOCKER       docker command with BuildKit (default: docker)
#   PYTHON       interpreter that can import pipelines (default: .venv/bin/python)
#   BASE_IMAGE   instead of the Containerfile's pinned base
#   VLLM         requirement of the vLLM that the train image gets, e.g. vllm==0.32.0 (default: none)
#   WHEELS       folder of wheels that are taken before any index's
#   PIP_CONF     pip's configuration: mirror, torch's index } build secrets:
#   CA_FILE      certificate authority of that mirror      } never in a layer
# The last three default to what pip on this machine is told (folder of wheels, addresses of indexes, certificate).
set -euo pipefail
cd "$(dirname "$0")/.."

DOCKER=${DOCKER:-docker}
PYTHON=${PYTHON:-.venv/bin/python}
families=("$@")
[ ${#families[@]} -gt 0 ] || families=(cpu train serve)

code_version=$("$PYTHON" -c 'from pipelines.version import code_version; print(code_version())')
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain -- hat components pipelines pyproject.toml constraints.txt)" ] || commit=$commit-changed

context=$(mktemp -d)
trap 'rm -rf "$context" "$context.pip"' EXIT
git ls-files -z --cached --others --exclude-standard -- hat components pipelines pyproject.toml constraints.txt LICENSE |
    xargs -0 cp --parents -t "$context"
cp images/install.sh "$context"
# Where they are not given: what makes pip work on this machine, as far as a build can follow it.
setting() { # pip's value of a setting, from the environment or from its files; empty where it has none
    local variable
    variable=PIP_$(tr 'a-z-' 'A-Z_' <<<"$1")
    printf '%s' "${!variable:-$("$PYTHON" -m pip config get "global.$1" 2>/dev/null || true)}"
}
CA_FILE=${CA_FILE-$(setting cert)}
if [ -z "${PIP_CONF:-}" ]; then
    PIP_CONF=$context.pip
    echo "[global]" >"$PIP_CONF"
    # Its settings that are web addresses, an environment variable before a file; folders of this machine mean nothing there.
    "$PYTHON" -m pip config list 2>/dev/null | sort |
        sed -nE "s/^(:env:|global)\.([a-z-]+)='(https?:[^']*)'\$/\2 = \3/p" | awk '!seen[$1]++' >>"$PIP_CONF" || true
    trusted=$(setting trusted-host)
    [ -z "$trusted" ] || echo "trusted-host = $trusted" >>"$PIP_CONF"
fi
WHEELS=${WHEELS-$(setting find-links)}
mkdir "$context/wheels"
if [ -d "${WHEELS:-}" ]; then
    find "$WHEELS" -maxdepth 1 -name '*.whl' -exec cp -t "$context/wheels" {} +
fi

arguments=(--label "org.opencontainers.image.revision=$commit" --label "hat.code-version=$code_version")
arguments+=(--label org.opencontainers.image.licenses=Apache-2.0 --network host)
[ -z "${VLLM:-}" ] || arguments+=(--build-arg "VLLM=$VLLM")
[ -z "${BASE_IMAGE:-}" ] || arguments+=(--build-arg "BASE_IMAGE=$BASE_IMAGE")
[ -z "${PIP_CONF:-}" ] || arguments+=(--secret "id=pip,src=$PIP_CONF")
[ -z "${CA_FILE:-}" ] || arguments+=(--secret "id=ca,src=$CA_FILE")

for family in "${families[@]}"; do
    tag=hat-python-$family:${code_version:0:12}
    DOCKER_BUILDKIT=1 "$DOCKER" build --progress plain --file images/Containerfile --target "$family" --tag "$tag" \
        --label "org.opencontainers.image.title=hat-python-$family" "${arguments[@]}" "$context"
    echo "built $tag"
done
