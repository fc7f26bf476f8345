//! Doubts: who refuses because of them, who goes on in spite of them, and what is given up by that.

use shoal_md::Superblock;
use shoal_memory::{Doubt, Found, Hold, Judgement, Standing, Taken, judge};

use super::{HostMemory, Trust, name_of};
use crate::{OpenError, OpenOptions};

impl HostMemory {
    /// Says what the doubts are; an error if they are not overruled. Who goes on to write is told
    /// what that gives up.
    pub(super) fn judge(&mut self, found: &[Found], options: &OpenOptions) -> Result<Judgement, OpenError> {
        let Some(first) = found.first() else { return Ok(Judgement::default()) };
        let superblock = &first.candidate.superblock;
        let (array, name) = (superblock.array_uuid, name_of(superblock));
        // Before it is looked at: whoever has it may have it remembered otherwise.
        let hold = if options.writable { Hold::Alone } else { Hold::Shared };
        let held = self.keeper.hold(array, hold);
        held.map_err(|Taken { process_id }| OpenError::InUse { name: name.clone(), array_uuid: array, process_id })?;
        let book = self.keeper.recall(array);
        let judgement = judge(book.as_ref(), found);
        self.standings.insert(array, Standing::of(book.as_ref(), found));
        if let Some(doubt) = &judgement.doubt {
            self.overrule(superblock, doubt)?;
            let given_up = if options.writable { format!("; so {}", doubt.given_up()) } else { String::new() };
            self.remark(format!("array {name}: {doubt}{given_up}"));
            if options.writable {
                self.anew.insert(array);
            }
        }
        Ok(judgement)
    }

    /// Goes on in spite of a doubt, if that was asked for.
    pub(super) fn overrule(&mut self, superblock: &Superblock, doubt: &Doubt) -> Result<(), OpenError> {
        match self.trust {
            Trust::Anything => {}
            Trust::Degraded if doubt.is_for_lack_of_members() => {}
            Trust::Known | Trust::Degraded => {
                return Err(OpenError::Doubt { name: name_of(superblock), doubt: doubt.clone() });
            }
        }
        if self.doubt.is_none() && !doubt.is_for_lack_of_members() {
            self.doubt = Some(doubt.clone());
        }
        Ok(())
    }

    /// The first doubt that was overruled and that says more than that members are missing.
    pub(crate) fn doubt(&self) -> Option<Doubt> {
        self.doubt.clone()
    }

    /// What is given up if what was found is believed, whatever is remembered of its arrays: a
    /// sentence for each that is in doubt.
    pub(crate) fn given_up(&mut self, found: &[Found]) -> Vec<String> {
        let mut told = Vec::new();
        let mut rest = found.to_vec();
        while let Some(superblock) = rest.first().map(|first| first.candidate.superblock.clone()) {
            let array = superblock.array_uuid;
            let (own, others) = rest.into_iter().partition(|it| it.candidate.superblock.array_uuid == array);
            rest = others;
            let Judgement { left_out, doubt } = judge(self.keeper.recall(array).as_ref(), &own);
            let name = name_of(&superblock);
            told.extend(doubt.map(|doubt| format!("array {name}: {doubt}; so {}", doubt.given_up())));
            let spoilt = left_out.iter().filter_map(|(index, suspicion)| {
                let (drive, given_up) = (&own[*index].candidate.drive, suspicion.given_up()?);
                Some(format!("array {name}: {drive} was not used: {suspicion}; so {given_up}"))
            });
            told.extend(spoilt);
        }
        told
    }
}
