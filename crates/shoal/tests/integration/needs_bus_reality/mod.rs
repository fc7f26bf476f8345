//! The simulator against reality: throttled USB sticks under a real kernel, and the simulated same.
//!
//! One stick is measured, alone. From that it is described, and arrays of such sticks are
//! predicted: shoal's own engine runs them, over drives on a virtual clock. Then the arrays are
//! made and measured, under shoal and under Linux's md.
//!
//! The throttles go by the clock, so what they bind can be held against a prediction on any
//! machine. Should the machine have been busy, it is measured anew a few times, the stick alone as
//! well: what counts is the fastest that it ever was, as others on the machine only slow it down.
//! `SHOAL_UPDATE_REALITY=1` measures many more arrays, and writes the tables of `docs/reality.md`.
//! `SHOAL_SHARE=K/N` measures each Nth array.

mod document;
mod figures;
mod files;
mod guest;
mod shapes;
mod simulated;

use shoal_lab::Share;
use shoal_lab::usb::{Limits, UsbLab};

use document::Row;
use figures::{Effort, Engine, Figures, Kind, cause, error_per_mille};
use guest::{Machine, Target};
use shapes::Shape;
use shoal_sim::DriveModel;

const LIMITS: Limits = Limits { read_bytes_per_s: 4_000_000, write_bytes_per_s: 2_000_000 };
const SEQUENTIAL: [Kind; 2] = [Kind::SequentialRead, Kind::SequentialWrite];
/// How often a figure may be measured until it agrees.
const ATTEMPTS: usize = 12;

#[test]
fn needs_bus_sticks_do_as_the_simulator_says() {
    let lab = UsbLab::find().map_err(|missing| eprintln!("SKIPPED: the simulator against sticks: needs {missing}"));
    let Ok(lab) = lab else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    if document::is_wanted() {
        write_document(&lab, directory.path());
        return;
    }
    let mut machine = Machine::boot(&lab, directory.path(), Some(LIMITS), Effort { seconds: 2, repeats: 1 });
    let mut stick = machine.stick();
    let share = Share::from_environment();
    for shape in shapes::FEW.into_iter().enumerate().filter_map(|(number, shape)| share.has(number).then_some(shape)) {
        for engine in [Engine::Shoal, Engine::Linux] {
            let target = machine.create(&shape, engine);
            for kind in SEQUENTIAL {
                check(&mut machine, &mut stick, &shape, engine, &target, kind);
            }
        }
    }
}

/// Others who use the machine slow it down for a while: a prediction fails where it lies beyond all
/// that was measured, and not where it lies between.
fn check(machine: &mut Machine, stick: &mut Figures, shape: &Shape, engine: Engine, target: &Target, kind: Kind) {
    let most = cause(shape, engine, kind).most_per_mille;
    let (mut predictions, mut measured) = (Vec::new(), Vec::new());
    for _ in 0..ATTEMPTS {
        let predicted = kind.of(&simulated::predicted(shape, &simulated::throttled(stick)));
        predictions.push(predicted);
        measured.push(machine.figure(target, kind));
        let (least, greatest) = (measured.iter().min(), measured.iter().max());
        let (Some(&least), Some(&greatest)) = (least, greatest) else { unreachable!("one was measured just now") };
        let nearest = predicted.clamp(least, greatest);
        if error_per_mille(predicted, nearest).abs() <= most {
            return;
        }
        *stick = stick.fastest(&machine.stick());
    }
    panic!("{}, {engine:?}, {kind:?}: predicted {predictions:?}, measured {measured:?}", shape.name());
}

/// A disk that others use as well says nothing that a test could rely on.
#[test]
fn files_do_as_the_simulator_says() {
    if !document::is_wanted() {
        eprintln!(
            "SKIPPED: the simulator against files: needs {}=1, and a machine that does little else",
            document::UPDATE
        );
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    document::put("files", &files::table(directory.path(), &shapes::FILES));
}

fn write_document(lab: &UsbLab, directory: &std::path::Path) {
    let effort = Effort { seconds: 2, repeats: 3 };
    let mut machine = Machine::boot(lab, directory, Some(LIMITS), effort);
    let stick = machine.stick();
    document::put("stick", &document::stick(&stick));
    let rows = measured(&mut machine, &simulated::throttled(&stick), &shapes::MANY);
    document::put("sequential", &document::table(&rows, &SEQUENTIAL));
    document::put("small", &document::table(&rows, &[Kind::SmallRead, Kind::SmallWrite]));
    drop(machine);

    let unbound = Machine::boot(lab, directory, None, effort).stick();
    document::put("stick without a throttle", &document::stick(&unbound));
}

fn measured(machine: &mut Machine, stick: &DriveModel, shapes: &[Shape]) -> Vec<Row> {
    let mut figures = |shape: &Shape, engine| -> Figures {
        let target = machine.create(shape, engine);
        let figures = machine.figures(&target);
        println!("{}, {engine:?}: {figures:?}", shape.name());
        figures
    };
    let row = |shape: &Shape| Row {
        shape: *shape,
        predicted: simulated::predicted(shape, stick),
        shoal: figures(shape, Engine::Shoal),
        linux: figures(shape, Engine::Linux),
    };
    shapes.iter().map(row).collect()
}
