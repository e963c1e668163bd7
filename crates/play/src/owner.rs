//! Whose a page is.

use wearwell_base::units::Lpn;
use wearwell_engine::counters::Cause;
use wearwell_engine::ftl::hybrid::PADDING;

/// What a page holds. Those that an FTL writes for itself have numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Data of whoever writes to the layer.
    User,
    /// A part of the translation table, or a node of a tree over it.
    Translation,
    /// A part of what says which pages are valid.
    Validity,
    /// Nothing: it was written because pages are programmed in order.
    Padding,
}

impl Kind {
    /// Its pages are called so.
    pub fn word(self) -> &'static str {
        match self {
            Kind::User => "page",
            Kind::Translation => "translation page",
            Kind::Validity => "validity page",
            Kind::Padding => "padding",
        }
    }
}

/// Whose page is on a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// What it holds.
    pub kind: Kind,
    /// Its number among those.
    pub number: Lpn,
}

impl Owner {
    /// The owner of a page that is programmed for this reason: an FTL writes its own pages under their own cause, whenever it does.
    pub fn of(number: Lpn, cause: Cause) -> Owner {
        let kind = match cause {
            Cause::Translation => Kind::Translation,
            Cause::Validity => Kind::Validity,
            _ if number == PADDING => Kind::Padding,
            _ => Kind::User,
        };
        Owner { kind, number }
    }

    /// Whether the page is one of whoever writes to the layer.
    pub fn is_user(self) -> bool {
        self.kind == Kind::User
    }

    /// What is written on it in a picture.
    pub fn label(self) -> String {
        match self.kind {
            Kind::User => self.number.0.to_string(),
            Kind::Translation => format!("T{}", self.number.0),
            Kind::Validity => format!("V{}", self.number.0),
            Kind::Padding => "–".to_owned(),
        }
    }
}
