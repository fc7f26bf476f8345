//! Arrays that are opened by force: what their owner gives up by that.
//!
//! Parity that was not made to agree again is wrong about a member that is lost. Of an array of
//! arrays what says that an inner array is a member may be in such a hole:
//!
//! | inner arrays that do not say so any more | what becomes of the array around them |
//! | --- | --- |
//! | one | it goes on without it, as shoal says |
//! | all, each of them dirty and without a member | it is lost, and the story ends: md promises no more |

use shoal_md::AssembleError;
use shoal_sim::Content;
use shoal_volume::{ArrayVolume, OpenError, OpenOptions};

use super::Player;
use super::boot::options;
use super::power::superblock;
use crate::watched::Watched;

impl Player<'_> {
    pub(super) fn open_forced(
        &mut self,
        contents: Vec<Content>,
        given: &mut Vec<usize>,
    ) -> Result<ArrayVolume<Watched>, OpenError> {
        let forced = || OpenOptions { force: true, ..options(self.scenario) };
        let opened = self.open(contents.clone(), given, forced(), self.memory());
        match opened {
            Err(OpenError::Stranger { array_uuid, .. }) => {
                let is_of_it =
                    |drive: &usize| superblock(&contents[*drive]).is_some_and(|own| own.array_uuid == array_uuid);
                self.stranded.drives = given.iter().copied().filter(is_of_it).collect();
                given.retain(|drive| !self.stranded.drives.contains(drive));
                self.open(contents, given, forced(), self.memory())
            }
            Err(OpenError::Assemble(AssembleError::DifferentArrays { .. })) => {
                self.stranded.is_all = self.scenario.groups() > 1 && have_all_holes(&contents, given);
                opened
            }
            opened => opened,
        }
    }
}

/// Whether each of the arrays that these drives carry is dirty and lacks a member.
fn have_all_holes(contents: &[Content], given: &[usize]) -> bool {
    let all: Vec<_> = given.iter().filter_map(|drive| superblock(&contents[*drive])).collect();
    all.iter().all(|one| {
        let of_it = || all.iter().filter(|other| other.array_uuid == one.array_uuid);
        let newest = of_it().map(|own| own.events).max().unwrap_or(0);
        let current = of_it().filter(|own| own.events == newest).count();
        of_it().any(|own| !own.is_clean()) && current < one.raid_devices as usize
    })
}
