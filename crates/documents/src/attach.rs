//! What `shoal attach` and `shoal detach` print, and `shoal status` of an array that is attached.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_attach::records::{Attachment, Standing};

/// `attach`: the array as a device or file of this machine; and `detach`: what it was.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttachDocument {
    /// Which array, how, and as what.
    #[serde(flatten)]
    pub attachment: Attachment,
}

/// `status`: as what an array is attached, and how that is at this moment.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttachedDocument {
    /// Which array, how, and as what.
    #[serde(flatten)]
    pub attachment: Attachment,
    /// Whether it can be used.
    pub standing: Standing,
}
