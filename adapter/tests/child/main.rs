//! The hook as a real child process (H3-H5, H8, H9, O02). On the real clock, since a paused one jumps while a child runs;
//! nothing here sleeps: a FIFO tells when a child is up and when the last of its group is gone.

mod asked;
mod bounds;
mod children;
mod lifeline;
mod question;
mod waiting;
