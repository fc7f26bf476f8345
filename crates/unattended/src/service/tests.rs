use std::process::Command;
use std::time::Duration;

use super::*;

const UUID: &str = "01020304:05060708:090a0b0c:0d0e0f10";
/// The same in names of files.
const NAME: &str = "01020304-0506-0708-090a-0b0c0d0e0f10";

fn service(manager: Manager) -> Service {
    Service {
        arrays: vec![ArrayName { uuid: UUID.parse().unwrap(), name: "pond".to_owned() }],
        image_directory: Some(PathBuf::from("/srv/a 100% odd $name")),
        program: PathBuf::from("/bin/true"),
        patience: Duration::from_secs(90),
        mount_point: Some(PathBuf::from("/srv/pond")),
        shares: false,
        alerts: Some(PathBuf::from("/etc/shoal/alerts.toml")),
        manager,
    }
}

/// The units of a service, in a directory, held against systemd's own reading of them. None if it
/// is not there.
fn verified(service: &Service) -> Option<String> {
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        eprintln!("SKIPPED: units by systemd's own reading: needs systemd-analyze");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut units = Vec::new();
    for file in service.files() {
        let name = file.path.file_name().unwrap().to_str().unwrap().to_owned();
        if let (true, Content::Text(text)) = (name.ends_with(".service"), &file.content) {
            std::fs::write(directory.path().join(&name), text).unwrap();
            units.push(name.replace("hot-plug@.service", "hot-plug@.service:shoal-hot-plug@sda.service"));
        }
    }
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--recursive-errors=no"]).args(&units).current_dir(directory.path());
    command.arg(if service.manager == Manager::System { "--system" } else { "--user" });
    command
        .env("SYSTEMD_UNIT_PATH", format!("{}:", directory.path().display()))
        .env("XDG_RUNTIME_DIR", directory.path());
    let output = command.output().unwrap();
    Some(format!("{}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn needs_systemd_units_are_understood() {
    for manager in [Manager::System, Manager::User(PathBuf::from("/root/.config/systemd/user"))] {
        let Some(said) = verified(&service(manager)) else { return };
        assert_eq!(said, "exit status: 0", "systemd has something to say");
    }
}

/// What systemd says of starting all of a machine, with a service in it.
fn order_of_a_boot(root: &std::path::Path) -> String {
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--system", "multi-user.target"]);
    command.env("SYSTEMD_UNIT_PATH", format!("{}:", root.join("etc/systemd/system").display()));
    String::from_utf8(command.output().unwrap().stderr).unwrap()
}

#[test]
fn needs_systemd_the_order_of_a_boot_has_no_circle() {
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        return eprintln!("SKIPPED: the order of a boot by systemd's own reading: needs systemd-analyze");
    }
    let root = tempfile::tempdir().unwrap();
    let service = service(Manager::System);
    service.install(root.path()).unwrap();
    let said = order_of_a_boot(root.path());
    assert!(!said.contains("shoal"), "{said}");
    // It would have noticed.
    let unit = root.path().join(format!("etc/systemd/system/shoal-mount@{NAME}.service"));
    let text = std::fs::read_to_string(&unit).unwrap().replace("DefaultDependencies=no\n", "");
    std::fs::write(&unit, text).unwrap();
    let said = order_of_a_boot(root.path());
    assert!(said.contains("ordering cycle") && said.contains("shoal-mount@"), "{said}");
}

#[test]
fn needs_systemd_units_that_are_wrong_are_noticed() {
    let sharing = Service { shares: true, ..service(Manager::System) };
    assert_eq!(verified(&sharing).as_deref(), Some("exit status: 0"), "systemd has something to say of shares");
    let wrong = Service { program: PathBuf::from("/no/such program"), ..service(Manager::System) };
    let Some(said) = verified(&wrong) else { return };
    assert!(said.contains("/no/such program"), "{said}");
}

/// The text of the file at a path that ends so.
fn text(service: &Service, end: &str) -> String {
    let is_it = |file: &ServiceFile| file.path.display().to_string().ends_with(end);
    service
        .files()
        .into_iter()
        .find_map(|file| match &file.content {
            Content::Text(text) if is_it(&file) => Some(text.clone()),
            _ => None,
        })
        .unwrap_or_else(|| panic!("there is no file {end}"))
}

#[test]
fn the_machines_services_have_all_their_files() {
    let service = service(Manager::System);
    let paths: Vec<_> = service.files().iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(
        paths,
        [
            format!("/etc/mdadm/mdadm.conf.d/shoal-{NAME}.conf"),
            "/etc/initramfs-tools/hooks/shoal".to_owned(),
            "/etc/systemd/system/shoal-hot-plug@.service".to_owned(),
            format!("/etc/udev/rules.d/63-shoal-{NAME}.rules"),
            format!("/etc/systemd/system/srv-pond.mount.d/shoal-{NAME}.conf"),
            format!("/etc/systemd/system/run-shoal-{UUID}.file.mount.d/shoal-{NAME}.conf"),
            format!("/etc/systemd/system/shoal-gone@{NAME}.service"),
            format!("/etc/systemd/system/shoal-array@{NAME}.service"),
            format!("/etc/systemd/system/multi-user.target.wants/shoal-array@{NAME}.service"),
            format!("/etc/systemd/system/shoal-mount@{NAME}.service"),
            format!("/etc/systemd/system/local-fs.target.wants/shoal-mount@{NAME}.service"),
        ]
    );
    let conf = text(&service, ".conf");
    assert!(conf.ends_with(&format!("ARRAY <ignore> UUID={UUID}\n")), "{conf}");
    let rules = text(&service, ".rules");
    assert!(rules.contains(r#"ENV{ID_FS_UUID}=="01020304-0506-0708-090a-0b0c0d0e0f10""#), "{rules}");
    let unit = text(&service, &format!("system/shoal-array@{NAME}.service"));
    assert!(unit.contains(" --wait 90 ") && unit.contains("WatchdogSec="), "{unit}");
    assert!(unit.contains(&format!("OnFailure=shoal-gone@{NAME}.service\n")), "{unit}");
    let gone = text(&service, &format!("system/shoal-gone@{NAME}.service"));
    assert!(gone.contains(&format!("alert --gone {UUID} /etc/shoal/alerts.toml\n")), "{gone}");
    let quiet = Service { alerts: None, ..service };
    assert!(quiet.files().iter().all(|file| !file.path.display().to_string().contains("gone")));
    assert!(!text(&quiet, &format!("system/shoal-array@{NAME}.service")).contains("OnFailure"));
}

#[test]
fn a_users_service_is_of_its_units_alone() {
    let files = service(Manager::User(PathBuf::from("/home/u/.config/systemd/user"))).files();
    assert_eq!(files.len(), 5);
    for file in files {
        assert!(file.path.starts_with("/home/u"), "{}", file.path.display());
        assert!(!matches!(&file.content, Content::Text(text) if text.contains("DefaultDependencies")));
    }
}

/// What must not be there, or the order of starting has a circle, or a restart takes mounts with
/// it.
#[test]
fn early_units_do_not_wait_for_mounts_and_mounts_survive_their_server() {
    let service = service(Manager::System);
    for file in service.files() {
        let Content::Text(text) = &file.content else { continue };
        if file.path.extension().is_some_and(|it| it == "service") {
            for line in ["PrivateTmp=", "After=sysinit", "After=basic", "udev-settle", "ProtectClock="] {
                assert!(!text.contains(line), "{line} in {text}");
            }
            assert!(text.contains("DefaultDependencies=no"), "{text}");
        }
    }
    let mount = text(&service, &format!("system/shoal-mount@{NAME}.service"));
    assert!(!mount.contains("Requires=") && !mount.contains("BindsTo="), "{mount}");
    assert!(mount.contains("Wants=shoal-array@"), "{mount}");
}

#[test]
fn an_arrays_name_stays_in_its_line() {
    let mut odd = service(Manager::System);
    odd.arrays[0].name = "pond\nExecStart=/bin/evil %n".to_owned();
    for file in odd.files() {
        let Content::Text(text) = &file.content else { continue };
        assert!(!text.lines().any(|line| line.starts_with("ExecStart=/bin/evil")), "{text}");
        assert!(!text.contains("evil %n"), "{text}");
    }
}

#[test]
fn what_was_installed_is_removed_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let (first, second) = (service(Manager::System), service(Manager::System));
    let mut second = Service { shares: true, ..second };
    second.arrays[0].uuid = "11111111:22222222:33333333:44444444".parse().unwrap();
    let own = root.path().join("etc/systemd/system/sshd.service");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "somebody's").unwrap();
    first.install(root.path()).unwrap();
    second.install(root.path()).unwrap();
    first.install(root.path()).unwrap();
    for file in first.files() {
        assert_eq!(file.standing(root.path()).unwrap(), Standing::Same, "{}", file.path.display());
    }
    assert_eq!(owner_of(root.path(), &first.arrays[0].uuid), Some(first.arrays[0].uuid));
    let take = |service: &Service| {
        let paths = installed(root.path(), &Manager::System, &service.arrays[0].uuid).unwrap();
        remove(root.path(), &paths).unwrap();
        paths.len()
    };
    assert_eq!(take(&first), 9, "the template serves the other array too");
    assert_eq!(take(&second), 13);
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "somebody's");
    assert_eq!(std::fs::read_dir(own.parent().unwrap()).unwrap().count(), 3, "it, and two empty directories");
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let service = service(Manager::System);
    let path = root.path().join(format!("etc/systemd/system/shoal-array@{NAME}.service"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "[Unit]\n").unwrap();
    assert!(matches!(service.install(root.path()), Err(InstallError::Foreign { .. })));
    assert!(!root.path().join("etc/mdadm").exists(), "nothing is written then");
    let paths = installed(root.path(), &Manager::System, &service.arrays[0].uuid).unwrap();
    assert!(matches!(remove(root.path(), &paths), Err(InstallError::Foreign { .. })));
    assert!(path.exists());
}

/// Debian's hook of mdadm has put an array of shoal's and another one into an initramfs'
/// configuration; the hook runs after it, for every initramfs that is made.
#[test]
fn an_initramfs_leaves_shoals_arrays_alone_and_no_others() {
    let root = tempfile::tempdir().unwrap();
    service(Manager::System).install(root.path()).unwrap();
    let at = |path: &str| root.path().join(path);
    let others = "ARRAY /dev/md/root UUID=99999999:05060708:090a0b0c:0d0e0f10\n";
    std::fs::create_dir_all(at("new/etc/mdadm")).unwrap();
    // In the place of the machine's own directory.
    let hook = std::fs::read_to_string(at("etc/initramfs-tools/hooks/shoal")).unwrap();
    let directory = at("etc/mdadm/mdadm.conf.d").display().to_string();
    std::fs::write(at("hook"), hook.replace(MDADM_CONFIGURATION, &directory)).unwrap();
    let run = |argument: &str| {
        let mut command = Command::new("sh");
        let output = command.arg(at("hook")).arg(argument).env("DESTDIR", at("new")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("prereqs"), "mdadm\n", "it comes after mdadm's");
    assert_eq!(run(""), "", "an initramfs without mdadm");
    std::fs::write(
        at("new/etc/mdadm/mdadm.conf"),
        format!("ARRAY /dev/md/pond metadata=1.2 name=pi:pond UUID={UUID}\n{others}"),
    )
    .unwrap();
    run("");
    let conf = std::fs::read_to_string(at("new/etc/mdadm/mdadm.conf")).unwrap();
    let lines: Vec<_> = conf.lines().filter(|line| line.starts_with("ARRAY")).collect();
    assert_eq!(lines, [others.trim_end(), &format!("ARRAY <ignore> UUID={UUID}")]);
}

#[test]
fn what_is_mounted_has_the_name_that_the_manager_gives_it() {
    for (path, name) in [
        ("/srv/pond", "srv-pond.mount"),
        ("/srv//pond/", "srv-pond.mount"),
        ("/", "-.mount"),
        ("/.a/.b-c d", "\\x2ea-.b\\x2dc\\x20d.mount"),
        ("/gr\u{fc}n", "gr\\xc3\\xbcn.mount"),
    ] {
        assert_eq!(unit::mounted_unit(Path::new(path)), name);
        if Path::new("/usr/bin/systemd-escape").exists() {
            let said = Command::new("systemd-escape").args(["--path", "--suffix=mount", path]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap().trim_end(), name, "systemd says so");
        }
    }
}

/// What a package has of a service: the units of any array. They are what `files` would write, by
/// the name of an instance.
#[test]
fn a_package_has_the_units_of_any_array() {
    let any = Service {
        arrays: vec![ArrayName { uuid: UUID.parse().unwrap(), name: "INSTANCE".to_owned() }],
        image_directory: None,
        program: PathBuf::from("/usr/bin/shoal"),
        patience: Duration::from_secs(90),
        mount_point: None,
        alerts: None,
        ..service(Manager::System)
    };
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    for (name, text) in [("shoal-array@.service", unit::array(&any)), (HOT_PLUG_UNIT, unit::hot_plug(&any))] {
        let text = text.replace(UUID, "%i").replace("INSTANCE", "%i");
        let path = packaging.join(name);
        if std::env::var_os("SHOAL_UPDATE_UNITS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let packed = std::fs::read_to_string(&path).unwrap();
        assert_eq!(packed, text, "{name}: SHOAL_UPDATE_UNITS=1 writes it anew");
    }
}

#[test]
fn an_instance_of_a_packages_unit_is_a_service() {
    let root = tempfile::tempdir().unwrap();
    let uuid = UUID.parse().unwrap();
    assert_eq!(owner_of(root.path(), &uuid), None);
    let wants = root.path().join("etc/systemd/system/multi-user.target.wants");
    std::fs::create_dir_all(&wants).unwrap();
    std::os::unix::fs::symlink("/usr/lib/systemd/system/shoal-array@.service", wants.join(array_unit(&uuid))).unwrap();
    assert_eq!(owner_of(root.path(), &uuid), Some(uuid));
    let rule = include_str!("../../../../packaging/63-shoal.rules");
    assert!(rule.contains(&format!("/{}/shoal-array@$env", "multi-user.target.wants")), "{rule}");
}
