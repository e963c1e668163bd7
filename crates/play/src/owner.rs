//! Owners of flash pages.

use wearwell_base::units::Lpn;
use wearwell_engine::counters::Cause;
use wearwell_engine::ftl::hybrid::PADDING;

/// Kind of page content. Each kind of FTL metadata is numbered separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageKind {
    /// User data of the layer.
    User,
    /// Part of the translation table, or node of a tree over the table.
    Translation,
    /// Part of the record of valid pages.
    Validity,
    /// Padding, which is written because pages are programmed in order.
    Padding,
}

impl PageKind {
    /// Returns the word for pages of this kind.
    pub fn word(self) -> &'static str {
        match self {
            PageKind::User => "page",
            PageKind::Translation => "translation page",
            PageKind::Validity => "validity page",
            PageKind::Padding => "padding",
        }
    }
}

/// Owner of a page on a medium: the data that the page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Kind of the data.
    pub kind: PageKind,
    /// Number of the data within its kind.
    pub number: Lpn,
}

impl Owner {
    /// Returns the owner of a page programmed with this cause; an FTL writes metadata under separate causes.
    pub fn of(number: Lpn, cause: Cause) -> Owner {
        let kind = match cause {
            Cause::Translation => PageKind::Translation,
            Cause::Validity => PageKind::Validity,
            _ if number == PADDING => PageKind::Padding,
            _ => PageKind::User,
        };
        Owner { kind, number }
    }

    /// True if the page holds user data of the layer.
    pub fn is_user(self) -> bool {
        self.kind == PageKind::User
    }

    /// Returns the label of the page in a picture.
    pub fn label(self) -> String {
        match self.kind {
            PageKind::User => self.number.0.to_string(),
            PageKind::Translation => format!("T{}", self.number.0),
            PageKind::Validity => format!("V{}", self.number.0),
            PageKind::Padding => "–".to_owned(),
        }
    }
}
