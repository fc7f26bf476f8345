//! The worlds that lives are led in: simulated drives, under watch.

use std::rc::Rc;

use shoal_sim::{Content, HostModel};
use shoal_volume::{Arena, Contents, DriveId, SimulatedWorld};

use crate::checkers::Failure;
use crate::chronicle::Shared;
use crate::fleet::topology;
use crate::out_of_order::OutOfOrder;
use crate::scenario::Scenario;
use crate::watched::Watched;

/// The world of a scenario's life number `boot`, on drives with these contents. What is left to
/// chance in it follows from both numbers.
pub(super) fn world(
    scenario: &Scenario,
    contents: Vec<Content>,
    arena: &Arena,
    boot: u64,
    chronicle: &Shared,
) -> Result<Watched, Failure> {
    let topology = topology(&scenario.makes, |drive| scenario.bytes_of(drive));
    let host = HostModel { scheduler: scenario.scheduler, ..HostModel::default() };
    let seed = scenario.seed.wrapping_mul(1000).wrapping_add(boot);
    let world = SimulatedWorld::with_arena(&topology, &host, Contents::Given(contents), arena.clone(), seed);
    let world = world.map_err(|error| Failure::new("creates", error.to_string()))?;
    let given =
        if boot == 0 { (0..).map(DriveId).take(scenario.members + scenario.spares).collect() } else { [].into() };
    Ok(Watched::new(OutOfOrder::new(world, scenario.reordering, seed), given, Rc::clone(chronicle)))
}
