//! Technologies as their callers see them, and one that does not ship.

mod built;
mod checksums;
mod toy;
mod toy_run;
