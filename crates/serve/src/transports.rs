//! Table of all transports.

use crate::transport::TransportKind;
use crate::{fuse, nbd, vhost_user};

/// All kinds of transports. A device may be served by several at once.
pub const TRANSPORTS: &[TransportKind] = &[nbd::TRANSPORT, fuse::TRANSPORT, vhost_user::TRANSPORT];
