//! Implementation of media that forward calls to a wrapped medium.

/// Implements the named methods of [`Medium`](super::Medium) by calls of a field, in the implementation of a wrapper.
macro_rules! forward_medium {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::layer::forward_medium!(@$method $field);)+
    };
    (@blocks $field:ident) => {
        #[inline]
        fn blocks(&self) -> u32 {
            $crate::layer::Medium::blocks(&self.$field)
        }
    };
    (@pages_per_block $field:ident) => {
        #[inline]
        fn pages_per_block(&self) -> u32 {
            $crate::layer::Medium::pages_per_block(&self.$field)
        }
    };
    (@count_reads $field:ident) => {
        #[inline]
        fn count_reads(&mut self, pages: u64) {
            $crate::layer::Medium::count_reads(&mut self.$field, pages);
        }
    };
    (@prefetch_block $field:ident) => {
        #[inline(always)]
        fn prefetch_block(&self, block: $crate::units::BlockId) {
            $crate::layer::Medium::prefetch_block(&self.$field, block);
        }
    };
    (@flush $field:ident) => {
        #[inline]
        fn flush(&mut self) -> Result<(), $crate::layer::MediumError> {
            $crate::layer::Medium::flush(&mut self.$field)
        }
    };
    (@retire $field:ident) => {
        #[inline]
        fn retire(&mut self, block: $crate::units::BlockId) {
            $crate::layer::Medium::retire(&mut self.$field, block);
        }
    };
    (@take_disturbed $field:ident) => {
        #[inline]
        fn take_disturbed(&mut self) -> Option<$crate::units::BlockId> {
            $crate::layer::Medium::take_disturbed(&mut self.$field)
        }
    };
    (@reads_before_refresh $field:ident) => {
        #[inline]
        fn reads_before_refresh(&self, block: $crate::units::BlockId) -> u32 {
            $crate::layer::Medium::reads_before_refresh(&self.$field, block)
        }
    };
    (@read_wear $field:ident) => {
        #[inline]
        fn read_wear(&mut self, block: $crate::units::BlockId) {
            $crate::layer::Medium::read_wear(&mut self.$field, block);
        }
    };
    (@is_bad $field:ident) => {
        #[inline]
        fn is_bad(&self, block: $crate::units::BlockId) -> bool {
            $crate::layer::Medium::is_bad(&self.$field, block)
        }
    };
    (@erases $field:ident) => {
        #[inline]
        fn erases(&self, block: $crate::units::BlockId) -> u32 {
            $crate::layer::Medium::erases(&self.$field, block)
        }
    };
    (@invalidation_listener $field:ident) => {
        #[inline(always)]
        fn invalidation_listener(&mut self) -> Option<&mut dyn $crate::layer::InvalidationListener> {
            $crate::layer::Medium::invalidation_listener(&mut self.$field)
        }
    };
    (@layer_below $field:ident) => {
        #[inline(always)]
        fn layer_below(&self) -> Option<&dyn $crate::layer::LayerBelow> {
            $crate::layer::Medium::layer_below(&self.$field)
        }
    };
    (@layer_below_mut $field:ident) => {
        #[inline(always)]
        fn layer_below_mut(&mut self) -> Option<&mut dyn $crate::layer::LayerBelow> {
            $crate::layer::Medium::layer_below_mut(&mut self.$field)
        }
    };
    (@describe $field:ident) => {
        #[inline]
        fn describe(&self, reports: &mut $crate::layer::Reports) {
            $crate::layer::Medium::describe(&self.$field, reports);
        }
    };
    (@check $field:ident) => {
        #[inline]
        fn check(&self) -> Result<(), String> {
            $crate::layer::Medium::check(&self.$field)
        }
    };
}

pub(crate) use forward_medium;
