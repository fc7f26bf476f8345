//! The kernel's own md as an engine: mdadm assembles the members, sysfs tells how they are.

#![forbid(unsafe_code)]
