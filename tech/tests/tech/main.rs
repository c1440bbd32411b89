//! Technologies as their callers see them: the ones that ship, and one that does not.

mod built;
mod checksums;
mod toy;
mod toy_run;
