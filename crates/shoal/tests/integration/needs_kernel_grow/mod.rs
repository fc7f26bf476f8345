//! Growth, begun by one side and ended or used by the other: shoal and Linux's own md.

use shoal_drive::{Access, Drive, IoLoop};
use shoal_volume::{BufferPlan, GrowOptions, Grown, RealWorld, grow};

use crate::support::pattern;
use crate::support::stage;
use crate::support::stage::Stage;

const MIB: u64 = 1 << 20;

fn stage(what: &str) -> Option<Stage> {
    stage::lab(what).map(|lab| Stage::new(&lab))
}

/// Makes an array of all drives but the last `others`, and fills all of it with `content`.
fn fill(stage: &mut Stage, level: &str, count: usize, others: usize) {
    fill_with(stage, (level, "1.2"), count, others);
}

fn fill_with(stage: &mut Stage, (level, metadata): (&str, &str), count: usize, others: usize) {
    stage.set(&vec![40 * MIB; count + others], 512);
    let members: Vec<_> = (0..count).map(|number| format!("d{number}")).collect();
    let members = members.join(" ");
    stage.shoal(
        &format!("create --level {level} --metadata {metadata} --chunk 64K --assume-clean {members}"),
        None,
        None,
    );
    let size = stage.json(&format!("status {members}"))["capacity_bytes"].as_u64().unwrap();
    std::fs::write(stage.path("content"), pattern(usize::try_from(size).unwrap(), 1)).unwrap();
    stage.shoal(&format!("write {members}"), Some("content"), None);
}

/// What the kernel makes of it: it takes it without a complaint, ends what is under way, and finds
/// content and parity right.
fn kernel_agrees(stage: &mut Stage, count: usize) {
    let agreed = stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         size=$(stat -c %s content)
         cmp -n $size content /dev/md0
         until mdadm --detail /dev/md0 | grep -q 'State : clean *$'; do sleep 0.1; done
         settle md0
         cmp -n $size content /dev/md0
         mdadm --detail /dev/md0 | grep -E '^ *State : clean *$'
         mdadm --detail /dev/md0 | grep -E '^ *Raid Devices : {count}$'
         echo mismatches $(check md0)
         mdadm --stop --quiet /dev/md0"
    ));
    assert!(agreed.contains("mismatches 0") || agreed.trim_end().ends_with("mismatches"), "{agreed}");
    assert_eq!(stage.complaints(), [""; 0]);
}

/// The reshape is stopped at the first checkpoint that it has at a third of its way or beyond.
fn shoal_goes_a_third(stage: &Stage, members: usize, count: usize, options: &GrowOptions) {
    let arena = BufferPlan::for_drives(count, 8, 256 << 10).arena().unwrap();
    let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 256).unwrap(), arena);
    let mut open = |number| world.add_drive(Drive::open(&stage.path(&format!("d{number}")), Access::Write).unwrap());
    let drives: Vec<_> = (0..count).map(|number| open(number).unwrap()).collect();
    let (members, added) = drives.split_at(members);
    let grown = grow(&mut world, members, added, options, &mut |done: u64, total: u64| done < total / 3).unwrap();
    assert!(matches!(grown, Grown::Stopped { position_bytes, .. } if position_bytes > 0), "{grown:?}");
}

#[test]
fn needs_kernel_linux_ends_what_shoal_began() {
    let Some(mut stage) = stage("a reshape by shoal, ended by Linux") else { return };
    for (level, members, count, chunk_bytes) in
        [("5", 3, 4, None), ("6", 4, 5, Some(128 << 10)), ("5", 3, 3, Some(32 << 10))]
    {
        fill(&mut stage, level, members, count - members);
        let raid_devices = Some(count);
        shoal_goes_a_third(
            &stage,
            members,
            count,
            &GrowOptions { raid_devices, chunk_bytes, ..GrowOptions::default() },
        );
        kernel_agrees(&mut stage, count);
        stage.shoal(&format!("read --length {} {}", content_bytes(&stage), stage.drives()), None, Some("found"));
        stage.assert_same("found", "content");
    }
}

#[test]
fn needs_kernel_shoal_ends_what_linux_began() {
    let Some(mut stage) = stage("a reshape by Linux, ended by shoal") else { return };
    fill(&mut stage, "5", 3, 1);
    stage.kernel(
        "set -- $DRIVES
         mdadm --assemble --quiet /dev/md0 $1 $2 $3
         mdadm --quiet /dev/md0 --add $4
         echo 1000 >/sys/block/md0/md/sync_speed_min
         echo 2000 >/sys/block/md0/md/sync_speed_max
         mdadm --grow --quiet /dev/md0 --raid-devices 4
         until [ \"$(synced md0)\" != none ] && [ \"$(synced md0)\" -gt 0 ]; do sleep 0.05; done
         mdadm --stop --quiet /dev/md0",
    );
    stage.refused(&format!("read {}", stage.drives()), &["shoal grow --continue"]);
    stage.refused("grow --raid-devices 4 --drive d3 d0 d1 d2", &["is under way", "shoal grow --continue"]);
    stage.shoal(&format!("grow --continue {}", stage.drives()), None, None);
    stage.shoal(&format!("read --length {} {}", content_bytes(&stage), stage.drives()), None, Some("found"));
    stage.assert_same("found", "content");
    kernel_agrees(&mut stage, 4);
}

#[test]
fn needs_kernel_linux_takes_what_shoal_has_grown() {
    let Some(mut stage) = stage("growth by shoal, seen by Linux") else { return };
    for (level, members, how) in [
        ("1", 2, "--raid-devices 3 --drive d2"),
        ("linear", 2, "--raid-devices 3 --drive d2"),
        ("4", 3, "--raid-devices 5 --drive d3 --drive d4 --chunk 32K"),
        ("6", 4, "--layout right-asymmetric --chunk 128K"),
    ] {
        let count = members + how.matches("--drive").count();
        fill(&mut stage, level, members, count - members);
        let given: Vec<_> = (0..members).map(|number| format!("d{number}")).collect();
        stage.shoal(&format!("grow {how} {}", given.join(" ")), None, None);
        kernel_agrees(&mut stage, count);
    }
}

/// A bitmap that shoal gave an array serves Linux; one that shoal took away is not missed.
#[test]
fn needs_kernel_linux_keeps_the_bitmap_that_shoal_gave() {
    let Some(mut stage) = stage("bitmaps given and taken away by shoal, seen by Linux") else { return };
    for (level, members, metadata) in [("1", 2, "1.2"), ("5", 3, "1.0"), ("6", 4, "1.1"), ("10", 4, "1.2")] {
        fill_with(&mut stage, (level, metadata), members, 0);
        let drives = stage.drives();
        stage.shoal(&format!("grow --bitmap internal --bitmap-chunk 64K {drives}"), None, None);
        let kept = stage.kernel(
            "set -- $DRIVES
             mdadm --assemble --quiet /dev/md0 $DRIVES
             cmp -n $(stat -c %s content) content /dev/md0
             mdadm --quiet /dev/md0 --fail $1 --remove $1
             dd if=content of=/dev/md0 bs=64K count=4 seek=8 oflag=direct status=none
             mdadm --quiet /dev/md0 --re-add $1
             settle md0
             mdadm --detail /dev/md0 | grep -E 'Intent Bitmap|Active Devices'
             dd if=content of=/dev/md0 bs=64K count=4 seek=8 skip=8 oflag=direct status=none
             mdadm --stop --quiet /dev/md0
             mdadm --examine-bitmap $1 | grep -E 'Bitmap : .*dirty'",
        );
        let is_whole = kept.contains(&format!("Active Devices : {members}"));
        assert!(kept.contains("Intent Bitmap : Internal") && is_whole, "{level}: {kept}");
        assert!(kept.contains(" bits (chunks)"), "{level}: {kept}");
        stage.shoal(&format!("grow --bitmap none {drives}"), None, None);
        kernel_agrees(&mut stage, members);
    }
}

fn content_bytes(stage: &Stage) -> u64 {
    std::fs::metadata(stage.path("content")).unwrap().len()
}
