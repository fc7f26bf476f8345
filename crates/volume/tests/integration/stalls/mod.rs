//! Members that are slow to answer, or never do, on virtual time: whoever can be served without
//! them is.

mod rig;

mod hung;
mod marking;
mod reads;
mod recorded;
