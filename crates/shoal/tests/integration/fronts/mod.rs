//! Arrays as files and block devices of this machine: FUSE with loop devices here, the kernel's nbd
//! in the lab, ublk in an emulated machine whose kernel has it.
//!
//! Server and front are the program, each as a process that can be killed.

mod discards;
mod file_systems;
mod front;
mod fuse;
mod nbd;
mod ublk;
