//! An array gets another name.

use shoal_array::CommandError;

use crate::array_volume::ArrayVolume;
use crate::manage_error::ManageError;
use crate::tree::Waiter;
use crate::world::World;

impl<W: World> ArrayVolume<W> {
    /// Gives the array another name, put after the host's if both fit. All members that are at work
    /// say so, durably, when this is done; arrays inside keep their names.
    pub fn rename(&mut self, name: &str, homehost: Option<&str>) -> Result<(), ManageError> {
        let node = self.root;
        let it = &mut self.tree.nodes[node.0];
        if !it.writable {
            let what = format!("array {} cannot be renamed", it.facts.name());
            return Err(ManageError::Refused { what, why: CommandError::ReadOnly });
        }
        it.facts.name_bytes = it.membership.rename(name, homehost)?;
        it.is_renamed = true;
        let now = self.tree.world.now();
        self.tree.record(now, node, Waiter::Nobody);
        Ok(self.settle()?)
    }
}
