//! The doors that there are.

use crate::door::Kind;
use crate::{fuse, nbd, vhost_user};

/// All kinds of doors; several may be open to one device.
pub const DOORS: &[Kind] = &[nbd::DOOR, fuse::DOOR, vhost_user::DOOR];
