#!/usr/bin/env bash
# Builds the images from the working tree's tracked files: images/build.sh [cpu] [train] [serve]
#
# Tags: hat-python-<family>:<first 12 digits of the code version>, which `hat run --runner docker` looks for.
# From the environment:
#   DOCKER       docker command with BuildKit (default: docker)
#   PYTHON       interpreter that can import pipelines (default: .venv/bin/python)
#   BASE_IMAGE   instead of the Containerfiles' pinned base
#   WHEELS       folder of wheels that are taken before any index's
#   PIP_CONF     pip's configuration: mirror, torch's index } build secrets:
#   CA_FILE      certificate authority of that mirror      } never in a layer
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
trap 'rm -rf "$context"' EXIT
git ls-files -z --cached --others --exclude-standard -- hat components pipelines pyproject.toml constraints.txt LICENSE |
    xargs -0 cp --parents -t "$context"
mkdir "$context/wheels"
[ -z "${WHEELS:-}" ] || cp "$WHEELS"/*.whl "$context/wheels/"

arguments=(--build-arg "COMMIT=$commit" --build-arg "CODE_VERSION=$code_version" --network host)
[ -z "${BASE_IMAGE:-}" ] || arguments+=(--build-arg "BASE_IMAGE=$BASE_IMAGE")
[ -z "${PIP_CONF:-}" ] || arguments+=(--secret "id=pip,src=$PIP_CONF")
[ -z "${CA_FILE:-}" ] || arguments+=(--secret "id=ca,src=$CA_FILE")

for family in "${families[@]}"; do
    tag=hat-python-$family:${code_version:0:12}
    DOCKER_BUILDKIT=1 "$DOCKER" build --progress plain --file "images/$family/Containerfile" --tag "$tag" \
        "${arguments[@]}" "$context"
    echo "built $tag"
done
