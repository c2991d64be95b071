# Runs inside the build (images/Containerfile), in the folder with pyproject.toml:
#   install.sh packages [EXTRAS [PACKAGE...]]   what we depend on, into /opt/hat; PACKAGEs without what they ask for
#   install.sh engine REQUIREMENT               vLLM, into /opt/vllm; an empty folder for an empty REQUIREMENT
#   install.sh code                             our own code, into /opt/code
set -eu
if [ -s /run/ca.pem ]; then export PIP_CERT=/run/ca.pem; fi
pip() { python3 -m pip --python /opt/hat/bin/python "$@"; }

what=$1
shift
if [ "$what" = code ]; then
    pip install --no-deps --target /opt/code .
    exit
fi
if [ "$what" = engine ]; then
    mkdir -p /opt/vllm
    if [ -n "$1" ]; then
        python3 -m venv --without-pip /opt/vllm
        python3 -m pip --python /opt/vllm/bin/python install --find-links /wheels "$1"
    fi
    exit
fi
extras=
if [ $# -gt 0 ]; then
    extras="[$1]"
    shift
fi
# An empty package stands in for ours, so that a change of our code does not install every dependency again.
mkdir -p hat
touch hat/__init__.py
pip install --find-links /wheels -c constraints.txt ".$extras"
if [ $# -gt 0 ]; then pip install --find-links /wheels --no-deps "$@"; fi
pip uninstall --yes hat-pipelines
rm -rf hat build ./*.egg-info
