//! Implementation of [`Flash`](super::Flash) for wrappers, by calls of the wrapped flash.

/// Implements the named methods of [`Flash`](super::Flash) by calls of a field, in the implementation of a wrapper.
macro_rules! forward_flash {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::nand::forward_flash!(@$method $field);)+
    };
    (@spare $field:ident) => {
        #[inline]
        fn spare(&self, block: $crate::units::BlockId, page: u32) -> $crate::nand::PageState {
            $crate::nand::Flash::spare(&self.$field, block, page)
        }
    };
    (@read_spare $field:ident) => {
        #[inline]
        fn read_spare(
            &mut self,
            block: $crate::units::BlockId,
            page: u32,
            cause: $crate::counters::Cause,
        ) -> $crate::nand::PageState {
            $crate::nand::Flash::read_spare(&mut self.$field, block, page, cause)
        }
    };
    (@prefetch_spares $field:ident) => {
        #[inline]
        fn prefetch_spares(&self, block: $crate::units::BlockId) {
            $crate::nand::Flash::prefetch_spares(&self.$field, block);
        }
    };
    (@note $field:ident) => {
        #[inline]
        fn note(&self, block: $crate::units::BlockId) -> u64 {
            $crate::nand::Flash::note(&self.$field, block)
        }
    };
    (@needs_page_bytes $field:ident) => {
        #[inline]
        fn needs_page_bytes(&self) -> bool {
            $crate::nand::Flash::needs_page_bytes(&self.$field)
        }
    };
    (@store_page_bytes $field:ident) => {
        #[inline]
        fn store_page_bytes(
            &mut self,
            block: $crate::units::BlockId,
            page: u32,
            fill: &mut $crate::nand::FillPage<'_>,
        ) -> Result<(), $crate::layer::MediumError> {
            $crate::nand::Flash::store_page_bytes(&mut self.$field, block, page, fill)
        }
    };
    (@tear_program $field:ident) => {
        #[inline]
        fn tear_program(&mut self, block: $crate::units::BlockId, page: u32) {
            $crate::nand::Flash::tear_program(&mut self.$field, block, page);
        }
    };
    (@tear_erase $field:ident) => {
        #[inline]
        fn tear_erase(&mut self, block: $crate::units::BlockId) {
            $crate::nand::Flash::tear_erase(&mut self.$field, block);
        }
    };
    (@recovery_step_ended $field:ident) => {
        #[inline]
        fn recovery_step_ended(&mut self) {
            $crate::nand::Flash::recovery_step_ended(&mut self.$field);
        }
    };
    (@next_page $field:ident) => {
        #[inline]
        fn next_page(&self, block: $crate::units::BlockId) -> Option<u32> {
            $crate::nand::Flash::next_page(&self.$field, block)
        }
    };
}

pub(crate) use forward_flash;
