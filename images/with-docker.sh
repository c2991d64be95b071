#!/usr/bin/env bash
# Runs a command with a container runtime: images/with-docker.sh COMMAND...
#
# Takes the Docker that is running. Else, as root, starts one of its own for the time of the command (state in
# DOCKER_DATA, default .hat/docker), installing it from Debian's packages if need be. The command gets DOCKER (a
# client with BuildKit), DOCKER_HOST and, where the pinned base image cannot be pulled, BASE_IMAGE: a Debian made
# by debootstrap. Ends with 4 when there is no runtime.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $1. $2" >&2
    exit 4
}

data=${DOCKER_DATA:-$PWD/.hat/docker}
builds() { # a client that can build with BuildKit: 20.10 and older carry it, later ones need the buildx plugin
    "$1" buildx version >/dev/null 2>&1 || "$1" --version 2>/dev/null | grep -Eq ' version (18\.09|19|20)\.'
}
client() {
    for candidate in "${DOCKER:-docker}" /usr/bin/docker; do
        if command -v "$candidate" >/dev/null && builds "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}
install_packages() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        fail "$1 is missing" "Install and start Docker with BuildKit, or run this as root on Debian."
    apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io debootstrap &&
        # Debian 13 and later have BuildKit's client in a package of its own.
        { ! apt-cache show docker-buildx >/dev/null 2>&1 || apt-get install -y -qq docker-buildx; } ||
        fail "Debian's packages docker.io and debootstrap cannot be installed" "See apt's message above."
}

[ -n "$(client)" ] || install_packages "a docker client with BuildKit"
DOCKER=$(client)
[ -n "$DOCKER" ] || fail "no docker client with BuildKit" "Install the buildx plugin."
export DOCKER

if ! "$DOCKER" info >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] || fail "Docker does not answer" "Start it, or run this as root."
    command -v dockerd >/dev/null || install_packages dockerd
    mkdir -p "$data"
    export DOCKER_HOST=unix://$data/docker.sock
    # Steps share the host's network, so the daemon need not touch its firewall.
    # Never the driver that Docker falls back to: it copies a whole image for each layer, and so fills the disk.
    dockerd --data-root "$data/root" --exec-root "$data/exec" --pidfile "$data/docker.pid" --host "$DOCKER_HOST" \
        --storage-driver overlay2 --bridge=none --iptables=false --ip6tables=false --ip-forward=false >"$data/dockerd.log" 2>&1 &
    daemon=$!
    trap 'kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null || true' EXIT
    for _ in $(seq 60); do
        "$DOCKER" info >/dev/null 2>&1 && break
        kill -0 "$daemon" 2>/dev/null || break
        sleep 1
    done
    "$DOCKER" info >/dev/null 2>&1 ||
        fail "dockerd does not start" "The end of $data/dockerd.log: $(tail -n 1 "$data/dockerd.log")"
fi

pinned=$(sed -n 's/^ARG BASE_IMAGE=//p' images/Containerfile)
if [ -z "${BASE_IMAGE:-}" ] && ! "$DOCKER" image inspect "$pinned" >/dev/null 2>&1 &&
    ! timeout 120 "$DOCKER" pull --quiet "$pinned" >/dev/null 2>&1; then
    BASE_IMAGE=hat-base:bookworm
    if ! "$DOCKER" image inspect "$BASE_IMAGE" >/dev/null 2>&1; then
        echo "The pinned base cannot be pulled: making a Debian base with debootstrap." >&2
        command -v debootstrap >/dev/null || install_packages debootstrap
        root=$(mktemp -d)
        # Python's headers, as in the pinned image: DeepSpeed's kernels are compiled against them.
        debootstrap --variant=minbase \
            --include=python3,python3-pip,python3-venv,libpython3-dev,ca-certificates bookworm "$root" >&2 ||
            fail "no base image" "The pinned one cannot be pulled and debootstrap failed, see above."
        tar -C "$root" -c . | "$DOCKER" import - "$BASE_IMAGE" >&2
        rm -rf "$root"
    fi
    export BASE_IMAGE
fi

"$@"
