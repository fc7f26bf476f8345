//! What a medium is made of.

use std::sync::Arc;

pub(crate) const PAGE_BYTES: usize = 4096;

/// What a page holds that is not all zeros.
pub(crate) type PageBytes = Arc<[u8]>;
