//! PostgreSQL under its own benchmark, with checksums in every page: what it told its clients was
//! committed is there.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::files::pond::{PATIENCE, Pond, lacks, meanwhile};

/// Where Debian keeps its programs; nothing if they are not there.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists())
}

/// A cluster of its own in a directory, on a socket in it; killed when it is dropped.
struct Cluster {
    bin: PathBuf,
    directory: PathBuf,
}

impl Cluster {
    /// Under its own user, as it will not run for root.
    fn create(bin: &Path, parent: &Path) -> Self {
        let directory = parent.join("cluster");
        std::fs::create_dir(&directory).unwrap();
        assert!(Command::new("chown").arg("postgres:postgres").arg(&directory).status().unwrap().success());
        let cluster = Self { bin: bin.to_owned(), directory };
        cluster.done("initdb", &["--data-checksums", "--no-locale", "--auth=trust", "--pgdata", &cluster.data()]);
        cluster
    }

    fn data(&self) -> String {
        self.directory.join("data").display().to_string()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(self.bin.join(program));
        command.current_dir(&self.directory).env("PGHOST", &self.directory).env("PGUSER", "postgres");
        command.env("PGCONNECT_TIMEOUT", "300").stdin(Stdio::null());
        command
    }

    fn done(&self, program: &str, arguments: &[&str]) -> String {
        let output: Output = self.command(program).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// Recovery from a crash is a part of starting. Nothing but fsync, full pages and the log keeps
    /// its promises.
    fn start(&self) {
        let options = format!(
            "-c listen_addresses='' -c unix_socket_directories={} -c shared_buffers=16MB -c max_wal_size=64MB \
             -c checkpoint_timeout=30s -c log_min_messages=warning",
            self.directory.display()
        );
        let log = self.directory.join("log").display().to_string();
        let timeout = PATIENCE.as_secs().to_string();
        let mut command = self.command("pg_ctl");
        command.args(["start", "--silent", "--wait", "--timeout", &timeout, "--log", &log, "--pgdata", &self.data()]);
        let status = command.args(["--options", &options]).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{}", std::fs::read_to_string(log).unwrap_or_default());
    }

    fn stop(&self, mode: &str) {
        self.done(
            "pg_ctl",
            &["stop", "--silent", "--wait", "--mode", mode, "--timeout", "300", "--pgdata", &self.data()],
        );
    }

    fn ask(&self, question: &str) -> String {
        self.done("psql", &["--no-psqlrc", "--tuples-only", "--no-align", "--command", question, "postgres"])
            .trim()
            .to_owned()
    }

    /// Its own benchmark for some seconds: how many transactions its clients know to be committed.
    fn benchmark(&self, seconds: u64) -> u64 {
        let duration = seconds.to_string();
        let said = self.done("pgbench", &["--no-vacuum", "--client=4", "--time", &duration, "postgres"]);
        let number = |label: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_else(|| panic!("{said}"));
            line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(number("number of failed transactions:"), 0, "{said}");
        number("number of transactions actually processed:")
    }

    /// What every transaction keeps true: one line of history each, and the same sum everywhere.
    fn holds(&self, committed: u64) {
        assert_eq!(self.ask("SELECT count(*) FROM pgbench_history"), committed.to_string());
        let sums = "SELECT count(DISTINCT sum) FROM (SELECT sum(delta) FROM pgbench_history UNION ALL SELECT sum(abalance) FROM \
                    pgbench_accounts UNION ALL SELECT sum(tbalance) FROM pgbench_tellers UNION ALL SELECT sum(bbalance) FROM \
                    pgbench_branches) AS sums";
        assert_eq!(self.ask(sums), "1");
        self.done("pg_amcheck", &["--heapallindexed", "--install-missing", "postgres"]);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ =
            self.command("pg_ctl").args(["stop", "--silent", "--mode", "immediate", "--pgdata", &self.data()]).output();
    }
}

/// Transactions a second in a plain directory.
fn rate_in_plain_directory(bin: &Path, seconds: u64) -> f64 {
    let place = tempfile::Builder::new().prefix("plain").tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let cluster = Cluster::create(bin, place.path());
    cluster.start();
    cluster.done("pgbench", &["--initialize", "--quiet", "postgres"]);
    let committed = cluster.benchmark(seconds);
    cluster.holds(committed);
    cluster.stop("fast");
    committed as f64 / seconds as f64
}

/// PostgreSQL's own measure of a flush: how many a second of the method that it takes by itself.
fn flushes_per_s(bin: &Path, file: &Path) -> f64 {
    let output = Command::new(bin.join("pg_test_fsync")).args(["-s", "1", "-f"]).arg(file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find(|line| line.trim_start().starts_with("fdatasync")).unwrap_or_else(|| panic!("{said}"));
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn needs_root_fuse_postgresql_loses_nothing_that_it_committed() {
    if lacks(&[("setpriv", "util-linux"), ("mkfs.xfs", "xfsprogs")], Some("xfs")) {
        return;
    }
    let Some(bin) = programs() else {
        println!("SKIPPED: needs_root_fuse_postgresql_loses_nothing_that_it_committed needs PostgreSQL (postgresql)");
        return;
    };
    let (breath, seconds) =
        if crate::files::is_long() { (Duration::from_secs(20), 30) } else { (Duration::from_millis(1500), 3) };
    let plain = rate_in_plain_directory(&bin, seconds);
    let mut pond = Pond::new("xfs", 256 << 20);
    if crate::files::is_long() {
        compare_flushes(&bin, &pond);
    }
    let cluster = Cluster::create(&bin, &pond.directory());
    cluster.start();
    cluster.done("pgbench", &["--initialize", "--quiet", "postgres"]);
    let (committed, rate) = load(&cluster, &mut pond, breath);
    println!(
        "pgbench: {rate:.0} transactions/s on the array, its server killed and a member replaced meanwhile; {plain:.0} in a \
         plain directory: {:.2}",
        rate / plain
    );
    is_there_after_all(&cluster, &pond, committed);
    drop(cluster);
    pond.is_consistent();
}

/// The benchmark again and again while all happens to the array: how many transactions were
/// committed, and how many a second.
fn load(cluster: &Cluster, pond: &mut Pond, breath: Duration) -> (u64, f64) {
    let clients = |stop: &AtomicBool| {
        let (start, mut committed) = (Instant::now(), 0);
        while !stop.load(Ordering::Relaxed) {
            committed += cluster.benchmark(2);
        }
        (committed, committed as f64 / start.elapsed().as_secs_f64())
    };
    meanwhile(clients, || pond.befall(breath))
}

/// While it runs, after it was killed and had only its log to go by, and without any page of this
/// machine's memory.
fn is_there_after_all(cluster: &Cluster, pond: &Pond, mut committed: u64) {
    cluster.holds(committed);
    cluster.stop("immediate");
    cluster.start();
    cluster.holds(committed);
    committed += cluster.benchmark(1);
    cluster.stop("fast");
    pond.unmount();
    pond.mount("d0 d2 d3");
    cluster.done("pg_checksums", &["--check", "--pgdata", &cluster.data()]);
    cluster.start();
    cluster.holds(committed);
    cluster.stop("fast");
}

fn compare_flushes(bin: &Path, pond: &Pond) {
    let (array, plain) = (flushes_per_s(bin, &pond.directory().join("f")), flushes_per_s(bin, &pond.bay.path("f")));
    println!(
        "pg_test_fsync: {array:.0} fdatasync/s on the array, {plain:.0} in a plain directory: {:.2}",
        array / plain
    );
}
