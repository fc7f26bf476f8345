# Packages of other releases and processors than this machine's, from the distributions' archives. To be sourced.
#
# apt fetches and verifies them, with lists of its own below target/, so that the system's apt stays as it is.

# debian_archive: where this machine has Debian's packages from; elsewhere, what SHOAL_DEBIAN_ARCHIVE says.
debian_archive() {
    # shellcheck disable=SC2016 # apt fills it in
    own=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 2>/dev/null | head -n 1)
    own=${own%/}
    echo "${SHOAL_DEBIAN_ARCHIVE:-${own:-http://deb.debian.org/debian}}"
}

ubuntu_archive() {
    echo "${SHOAL_UBUNTU_ARCHIVE:-http://archive.ubuntu.com/ubuntu}"
}

debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
ubuntu_keyring=$PWD/target/ubuntu-keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg

# source_of SUITE: the line of apt's sources that names its packages, and the keys that they are held against.
source_of() {
    case $1 in
    noble) echo "deb [signed-by=$ubuntu_keyring] $(ubuntu_archive) $1 main universe" ;;
    *) echo "deb [signed-by=$debian_keyring] $(debian_archive) $1 main" ;;
    esac
}

# unpack_from SUITE ARCHITECTURE FOLDER PACKAGE...: their files, all below that folder; nothing is installed.
unpack_from() {
    suite=$1
    architecture=$2
    folder=$PWD/$3
    shift 3
    apt=$folder.apt
    rm -rf "$apt" "$folder.new"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$folder.new"
    source_of "$suite" >"$apt/sources"
    options="-q -o APT::Sandbox::User=root -o APT::Architecture=$architecture -o APT::Architectures=$architecture
        -o Dir::Etc::sourcelist=$apt/sources -o Dir::Etc::sourceparts=/dev/null -o Dir::State::status=/dev/null
        -o Dir::State::lists=$apt/lists -o Dir::Cache=$apt/cache -o Acquire::Languages=none"
    # shellcheck disable=SC2086 # words
    apt-get $options update >&2 && (cd "$apt/debs" && apt-get $options download "$@" >&2) || return 1
    for package in "$apt"/debs/*.deb; do
        dpkg -x "$package" "$folder.new" || return 1
    done
    rm -rf "$apt" "$folder" && mv "$folder.new" "$folder"
}

# The keys of Ubuntu's archive, which Debian 12 has not: Debian 13 has, signed as all of Debian is.
bring_ubuntu_keyring() {
    [ -e "$ubuntu_keyring" ] || unpack_from trixie "$(dpkg --print-architecture)" target/ubuntu-keyring ubuntu-keyring
}

# bring_openssl ARCHITECTURE: what a program for it is linked with, below target/openssl/: of Debian 12, so that it runs there.
bring_openssl() {
    openssl=target/openssl/$1
    [ ! -d "$openssl" ] || return 0
    unpack_from bookworm "$1" "$openssl.unpacked" libssl-dev libssl3 || return 1
    mkdir -p "$openssl.new/include" "$openssl.new/lib"
    for part in "$openssl.unpacked"/usr/include/openssl "$openssl.unpacked"/usr/include/*-linux-*/openssl; do
        cp -a "$part" "$openssl.new/include/" || return 1
    done
    cp -a "$openssl.unpacked"/usr/lib/*-linux-*/lib*.so* "$openssl.new/lib/"
    rm -rf "$openssl.unpacked" && mv "$openssl.new" "$openssl"
}
