//! What `shoal attach` and `shoal detach` print.

use schemars::JsonSchema;
use serde::Serialize;

use crate::attaching::Attachment;

/// `attach`: the array as a device or file of this machine; and `detach`: what it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AttachDocument {
    /// Which array, how, and as what.
    #[serde(flatten)]
    pub(crate) attachment: Attachment,
}
