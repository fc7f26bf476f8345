//! Arrays as services of the machine.

use schemars::JsonSchema;
use serde::Serialize;

/// `service mdadm-conf`: what has the kernel run an array.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MdadmConfDocument {
    /// Lines for mdadm's configuration, in order.
    pub lines: Vec<String>,
    /// The device that the array is then.
    pub device: String,
}

/// `alert`: whether people would be told.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AlertTestDocument {
    /// The file that says who.
    pub file: String,
    /// Whether it was tried out.
    pub tested: bool,
    /// What came of each way out, if it was.
    pub ways: Vec<WayOutDocument>,
}

/// One way in which people are told.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WayOutDocument {
    /// "mail to root", "webhook home", "command /usr/local/bin/x".
    pub name: String,
    /// Why it did not take the test; left out if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// `service install`, `service show` and `service remove`: what makes an array a service. With
/// `install` and `remove` it is printed before anything is done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceDocument {
    /// The array's name; left out where its drives were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// As md prints it.
    pub uuid: String,
    /// Files, in the order in which they are written, or taken away.
    pub files: Vec<ServiceFileDocument>,
    /// What is run then.
    pub commands: Vec<String>,
    /// What has to be known, a sentence each.
    pub notes: Vec<String>,
}

/// A file of a service.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceFileDocument {
    /// Where it belongs.
    pub path: String,
    /// "new", "same", "changed", "foreign" (somebody else wrote it) or "installed".
    pub standing: String,
    /// Its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it leads, if it is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}
