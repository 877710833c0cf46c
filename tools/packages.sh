# Sourced by tools/demo and tools/test: what must be installed, by Debian's names, and how.
BUILD_PACKAGES="gcc libc6-dev meson ninja-build pkg-config libdw-dev libelf-dev libunwind-dev libiberty-dev liblzma-dev zlib1g-dev"
TEST_PACKAGES="binutils check python3 g++ gdb clang-tidy-14 clang-format-14 strace xz-utils"

# Installs those of the named packages that are missing, with sudo if not root.
need_packages()
{
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "installing:$missing" >&2
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
}
