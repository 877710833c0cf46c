#!/bin/sh
# Sourced by tools/demo, tools/test and others: what must be installed, by Debian's names, and how;
# how a build folder is configured.
# shellcheck disable=SC2034 # used by those who source it
BUILD_PACKAGES="gcc libc6-dev meson ninja-build pkg-config libdw-dev libelf-dev libiberty-dev
    liblzma-dev zlib1g-dev libsqlite3-dev"
# shellcheck disable=SC2034
FUZZ_PACKAGES="clang libclang-rt-dev"
# shellcheck disable=SC2034
DEMO_PACKAGES="g++ python3 python3-minimal"
# shellcheck disable=SC2034
QUICK_PACKAGES="binutils check codespell g++ libunwind-dev man-db mandoc python3 python3-venv
    shellcheck xz-utils"
# shellcheck disable=SC2034
TEST_PACKAGES="$QUICK_PACKAGES clang elfutils gdb npm=npm python3-dev strace valgrind"
# shellcheck disable=SC2034
PORT_PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
# Ubuntu has it as a snap only; where it is not installed, the test that needs a browser is skipped.
grep -qs '^ID=ubuntu' /etc/os-release || TEST_PACKAGES="$TEST_PACKAGES chromium"

# Lets the user decide; without a terminal nobody can be asked, and who calls a tool whose purpose
# is set-up there wants it done.
agree()
{
    if [ "$assume_yes" = yes ] || [ ! -t 0 ] || [ ! -t 2 ]; then
        echo "Installing them with $1." >&2
        return 0
    fi
    printf 'Install them with %s? [Y/n] ' "$1" >&2
    read -r answer || return 1
    case $answer in
    "" | y* | Y*) return 0 ;;
    *) return 1 ;;
    esac
}

is_installed()
{
    dpkg-query -W -f '${Status}' "${1%%=*}" 2>/dev/null | grep -q 'ok installed' && return 0
    case $1 in
    *=*) command -v "${1#*=}" >/dev/null ;;
    *) return 1 ;;
    esac
}

# Of a new machine apt may be at its first updates: it is waited for, for five minutes.
update_lists()
{
    for again in 1 2 3 4 5 6 7 8 9 10 last; do
        # shellcheck disable=SC2086 # empty or "sudo "
        said=$(${as_root}apt-get update -qq 2>&1) && return 0
        case $said in
        *"Could not get lock"*) [ $again = last ] || sleep 30 ;;
        *) break ;;
        esac
    done
    echo "$said" >&2
}

# need_packages yes|no PACKAGE[=COMMAND]...: installs those that are missing, and no more than they
# depend on, with sudo if not root; yes: does not ask.  Where COMMAND exists, from whatever package,
# PACKAGE is not missing.  Fails if they stay missing.  Where there is no apt-get it says so and
# leaves it to the build.
need_packages()
{
    assume_yes=$1
    shift
    missing=
    for package in "$@"; do
        is_installed "$package" || missing="$missing ${package%%=*}"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || {
        echo "No apt-get here.  What is needed, by Debian's names:$missing" >&2
        return 0
    }
    echo "Missing packages:$missing" >&2
    as_root=
    [ "$(id -u)" = 0 ] || as_root="sudo "
    if [ -n "$as_root" ] && ! command -v sudo >/dev/null; then
        echo "No sudo here.  Have root run: apt-get install --no-install-recommends$missing" >&2
        return 1
    fi
    agree "${as_root}apt-get" || return 1
    update_lists
    # -q, not -qq: it says what else comes with them and how much it is.
    # shellcheck disable=SC2086 # and a list of words
    ${as_root}env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends -o DPkg::Lock::Timeout=300 $missing >&2
}

# configure FOLDER MESON_OPTION...: again if it is set up; with the OPTIONs if not.  Of what meson
# says only warnings and errors are shown.
configure()
{
    mkdir -p "$1"
    if [ -f "$1/build.ninja" ]; then
        set -- "$1" ninja -C "$1" reconfigure
    else
        set -- "$1" meson setup "$@"
    fi
    log=$1/setup.log
    shift
    "$@" >"$log" 2>&1 || {
        tail -30 "$log" >&2
        return 1
    }
    grep -a WARNING: "$log" >&2 || true
}
