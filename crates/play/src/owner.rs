//! Owners of pages.

use wearwell_base::units::Lpn;
use wearwell_engine::counters::Cause;
use wearwell_engine::ftl::hybrid::PADDING;

/// Kind of page content. Each kind of FTL metadata has its own numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// User data of the layer.
    User,
    /// Part of the translation table, or node of a tree over it.
    Translation,
    /// Part of the record of valid pages.
    Validity,
    /// Padding, written because pages are programmed in order.
    Padding,
}

impl Kind {
    /// Returns the word for pages of this kind.
    pub fn word(self) -> &'static str {
        match self {
            Kind::User => "page",
            Kind::Translation => "translation page",
            Kind::Validity => "validity page",
            Kind::Padding => "padding",
        }
    }
}

/// Owner of a page on a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Kind of the content.
    pub kind: Kind,
    /// Number within the kind.
    pub number: Lpn,
}

impl Owner {
    /// Returns the owner of a page programmed with this cause; an FTL writes its metadata under separate causes.
    pub fn of(number: Lpn, cause: Cause) -> Owner {
        let kind = match cause {
            Cause::Translation => Kind::Translation,
            Cause::Validity => Kind::Validity,
            _ if number == PADDING => Kind::Padding,
            _ => Kind::User,
        };
        Owner { kind, number }
    }

    /// True if the page holds user data of the layer.
    pub fn is_user(self) -> bool {
        self.kind == Kind::User
    }

    /// Returns the label of the page in a picture.
    pub fn label(self) -> String {
        match self.kind {
            Kind::User => self.number.0.to_string(),
            Kind::Translation => format!("T{}", self.number.0),
            Kind::Validity => format!("V{}", self.number.0),
            Kind::Padding => "–".to_owned(),
        }
    }
}
