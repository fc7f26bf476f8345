//! What a host remembers of its arrays, so that none of them goes back in time, and no stranger
//! gets in.
//!
//! md starts a degraded array from any members that suffice. So the stale half of a mirror, alone,
//! shows last month's content, and a stick with the array's UUID and a higher count of updates
//! takes the array over: superblocks prove nothing about those that are not there, and anybody can
//! write one. A host that has run the array knows more. It keeps a [`Book`] of each: the members of
//! the last update, by device UUID and by hardware, the count of that update, and who left before,
//! with the count at which it was last seen.
//!
//! **When the book is written.** Before superblocks with a higher count are, by the one who runs
//! the array, once a record run, and durably. A crash between the two leaves members one update
//! behind the book. That is no loss: a member of the book's update that has not got it proves that
//! the update never ended, so no answer was given that relies on it. An update that is given up
//! before any superblock was written is taken back. So is one that no drive said it had taken; as
//! one may have, and lost its power before it could say so, its count and time are kept
//! ([`GivenUp`]): nobody else has run that drive since.
//!
//! **What the book proves.** An update reaches every member in use, or those that it does not reach
//! fail, which is another update. So *one* member of the book's last update, with data, at its
//! count or one below, knows all that this host has ever seen, and what it says of the others (md's
//! table of roles) can be believed. This is the *basis*. Without one, what is there may be old,
//! whatever it says of itself.
//!
//! **Flushed updates.** Once all members have taken an update and its last flush, the book says so,
//! with the next update or after a second without one, and at the end. A member of the book that is
//! below *that* update has lost what it had promised to keep: it was set back, or it acknowledges
//! flushes and loses them. md would take it for a member in sync, if it is one update behind. Here
//! it is left out, to be filled anew; or, if there is no array without it, this is a doubt.
//!
//! **Refused flushes.** What a member that refuses a flush had answered by then may go with its
//! power, whatever later flushes say, until all of it was written to it again. A mirror's last copy
//! is kept; and any other member is one again for the next start, if no update says that it is out:
//! an array that has failed makes none, and the process may be killed before. Nothing on the member
//! tells that to the process that runs the array next; the book does.
//!
//! **Lost content.** An image file that was cut short or deleted under a running array refuses a
//! flush too, and no writing makes that good: made as long again it looks like a member in sync,
//! and holds zeros. The book keeps the reason ([`Refusal`]). Such a member is left out, or, if
//! there is no array without it, this is a doubt, until somebody says that it is right.
//!
//! **Who may take part.** A member of the book always may. If such a member has seen updates that
//! this host has not, the array was run elsewhere, and members that came to it there are vouched
//! for by its count: whoever has no more updates than it is for md to judge. Whoever ran it there
//! may have gone on without some of the members, and these do not know it: so all must be there
//! that the freshest one counts on, as without a book. If no known member has gone on, nobody else
//! can have come legitimately: each newcomer is an update of all members in use. [`judge`] does
//! what this table says, over the freshest known member:
//!
//! | who | array as last seen, fewer updates | the same | more | run elsewhere, no more updates | more |
//! | --- | --- | --- | --- | --- | --- |
//! | member | taken | taken | - | taken | - |
//! | member that lacks an update which it had flushed, or whose file was cut short | left out | left out | - | left out | - |
//! | member on other hardware, closed in order | doubt | taken | - | doubt | - |
//! | member on other hardware, not closed in order | doubt | doubt | - | doubt | - |
//! | one that left, with no more updates than then | taken: md finds it old | taken: that it left was never written; left out if its own last update has the number of one that a member has, and does not count on that member: two announcements with one number, and this is the earlier one | left out: its last update was given up | taken | rival |
//! | one that left, and went on | taken: md finds it old | left out | rival | taken | taken if the freshest known member counts on it, else rival |
//! | stranger | left out | left out | rival | taken | rival |
//!
//! **Other hardware.** Enclosures change, files are copied to another disk, and drives are copied
//! before they die. A copy that was made at rest is as good as its original: it has the count and
//! the mark of an array that was closed in order. One that was made while the array ran lacks what
//! was written afterwards, and nothing on it says so: while an array is active its count stands
//! still. After a crash such a copy is level with the others; after an orderly end it is an update
//! or two behind, which md takes for a superblock that was not written in a crash, or fills by a
//! bitmap that knows nothing of it. So a member on other hardware is taken if it is at the last
//! update and was closed in order; in all other cases somebody has to say that it is the member. It
//! is a basis only where it is taken at the book's own count. If it claims more updates than this
//! host has seen it is a stranger. Where hardware has no name, or the same name twice, nobody can
//! tell.
//!
//! **Rivals** would win md's election. If every member with data of the last update is there, and
//! none has gone on, a rival cannot be right: it is left out, and the array starts. If some are
//! missing the rival may be what became of them elsewhere, so nothing is started: a [`Doubt`].
//!
//! **Copies.** Of two drives with one device UUID the one on the hardware that the book names is
//! the member, and the other is left out. If the book cannot tell them apart, this is a doubt.
//!
//! **Arrays inside an array** are judged one by one, and then together ([`Standing`]): if another
//! host has run one of them, and of another one members are missing, or went their own way, what
//! became of that one there may be on those. Joined, they would be of two times.
//!
//! **One process at a time** runs an array on this host, or changes what its members say: it
//! [holds](Keeper::hold) the array meanwhile, whichever of its members it has. Where that cannot be
//! locked it is told, and nothing keeps two processes with different members apart.
//!
//! **Without a book**, on another machine or the first time, all members must be there that the
//! freshest one counts on, as mdadm wants it without `--run`; or somebody says that the array is to
//! start degraded.
//!
//! Doubts stop what writes, and what offers content to others. What only reads once tells them and
//! goes on.
//!
//! Not meant: protection against somebody who can write to the members themselves, or to the book.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod book;
mod judge;
mod keeper;
mod limits;
mod lock;
mod store;
mod table;

pub use book::{Book, BookError, GivenUp, Left, Member, Refusal, Sight, hardware_of_array};
pub use judge::{Doubt, Found, Judgement, Run, Standing, Suspicion, judge};
pub use keeper::{FileKeeper, Keeper, Reader, Taken};
pub use lock::{Hold, Lock, LockError};
pub use store::{Store, StoreError};
