//! Scenario texts: the shipped ones, every technology, addresses, wrong and random ones.

mod addresses;
mod any_text;
mod beds;
mod device;
mod files;
mod keys_in_texts;
mod reproduce;
mod software;
mod technologies;
mod unreadable;
mod wrong;
