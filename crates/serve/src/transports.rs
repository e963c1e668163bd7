//! Table of all transports.

use crate::transport::TransportKind;
use crate::{fuse, nbd, vhost_user};

/// All kinds of transports. Several transports can serve a device at the same time.
pub const TRANSPORTS: &[TransportKind] = &[nbd::TRANSPORT, fuse::TRANSPORT, vhost_user::TRANSPORT];
