# Runs as root in a bare system that has /shoal.deb: `all` installs it, tries it and purges it. `tried` tries it.
export DEBIAN_FRONTEND=noninteractive

# Every file, but for what dpkg and apt write down, and what is made out of files.
files() {
    find / -xdev \( -path /proc -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log -o -path /etc/ld.so.cache \
        -o -path /shoal.deb -o -path '/tmp/files.*' \) -prune -o -print | sort
}

is_gone() {
    ! command -v "$1" >/dev/null || { echo "$1 is there"; exit 1; }
}

all() {
    is_gone cc
    files >/tmp/files.before
    apt-get install -y -q --no-install-recommends /shoal.deb
    for page in shoal shoal-create shoal-serve shoal-service-install; do
        zcat "/usr/share/man/man1/$page.1.gz" | grep -q '^\.TH'
    done
    for file in bash-completion/completions/shoal zsh/vendor-completions/_shoal fish/vendor_completions.d/shoal.fish doc/shoal/copyright; do
        test -s "/usr/share/$file" || { echo "no $file"; exit 1; }
    done
    (cd /tmp && mkdir tried && cd tried && tried)
    rm -r /tmp/tried
    test -e /var/lib/shoal || { echo "nothing is remembered of arrays"; exit 1; }
    apt-get remove -y -q shoal
    is_gone shoal
    apt-get purge -y -q --auto-remove shoal
    files >/tmp/files.after
    diff /tmp/files.before /tmp/files.after
}
