//! Which of the ways of making an array a device is taken.

use shoal_attach::records::{Method, PassedOver};

use crate::error::AttachError;
use crate::options::AttachOptions;

/// What is taken.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) method: Method,
    pub(super) passed_over: Vec<PassedOver>,
}

/// The one that is asked for, or the best that can be had.
pub(super) fn choose(options: &AttachOptions) -> Result<Chosen, AttachError> {
    if let Some(method) = options.method {
        return match obstacle(method, options) {
            None => Ok(Chosen { method, passed_over: Vec::new() }),
            Some(reason) => Err(AttachError::NoMethod { method, reason }),
        };
    }
    let mut passed_over = Vec::new();
    for method in Method::ALL {
        match obstacle(method, options) {
            None => return Ok(Chosen { method, passed_over }),
            Some(reason) => passed_over.push(PassedOver { method, reason }),
        }
    }
    let reasons = passed_over.iter().map(|it| format!("{}: {}", it.method, it.reason)).collect::<Vec<_>>();
    Err(AttachError::NoMethods { reasons: reasons.join("; ") })
}

/// Why a method cannot be had here.
fn obstacle(method: Method, options: &AttachOptions) -> Option<String> {
    match method {
        Method::Ublk => shoal_attach::ublk::probe().err().map(|error| error.to_string()),
        Method::Nbd => shoal_attach::kernel_nbd::probe().err().map(|error| error.to_string()),
        Method::Fuse => shoal_attach::fuse::probe().err().map(|error| error.to_string()).or_else(|| {
            let is_refused = options.block_device && !rustix::process::geteuid().is_root();
            is_refused.then(|| "a loop device on the file needs root: use sudo, or do with the file".to_owned())
        }),
    }
}
