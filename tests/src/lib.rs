//! What the end-to-end tests share: a plain model of a store, and the stores that are compared with it.
//!
//! The [`model`] is written from the contract and not from the engine: vectors and maps, the slowest obvious code. A
//! [`Subject`] is a store under test, whatever it runs in. And [`load`] on the real server, [`faults`] around a store, and
//! the component in a [`raw`] host.
#![deny(missing_docs)]

pub mod component;
pub mod faults;
pub mod load;
pub mod model;
pub mod raw;
pub mod subject;

pub use component::Component;
pub use model::Model;
pub use subject::Subject;

/// The code in README.md is compiled as this.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The code in docs/configuration.md is compiled as this.
#[cfg(doctest)]
#[doc = include_str!("../../docs/configuration.md")]
pub struct Configuration;
