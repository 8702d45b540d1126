//! The built program.

mod tidy;
