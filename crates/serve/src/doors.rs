//! Table of all transports.

use crate::door::Kind;
use crate::{fuse, nbd, vhost_user};

/// All kinds of transports. A device may be served by several at once.
pub const DOORS: &[Kind] = &[nbd::DOOR, fuse::DOOR, vhost_user::DOOR];
