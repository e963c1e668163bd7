//! The watermark at which cleaning starts, as erased blocks or as a fraction of all blocks.

use wearwell_base::config::ConfigError;

/// Converts a given `share` of `blocks` to blocks and stores it in `low`; returns the key that was given.
///
/// # Errors
/// Returns an error if both keys are given, or if the share is not between 0 and 1.
pub(super) fn resolve_share(
    low: &mut Option<u32>,
    share: &mut Option<f64>,
    blocks: u32,
) -> Result<&'static str, ConfigError> {
    let Some(share) = share.take() else { return Ok("free_blocks_low") };
    let key = "free_share_low";
    if low.is_some() {
        return Err(ConfigError::new(key, "stands beside `free_blocks_low`; give one of them"));
    }
    if !(share > 0.0 && share < 1.0) {
        return Err(ConfigError::new(key, format!("is {share}; it must be above 0 and below 1")));
    }
    *low = Some((f64::from(blocks) * share).round() as u32);
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::resolve_share;

    fn resolve(mut low: Option<u32>, mut share: Option<f64>) -> Result<(Option<u32>, &'static str), String> {
        let key = resolve_share(&mut low, &mut share, 512).map_err(|error| error.to_string())?;
        assert_eq!(share, None, "nothing is left open");
        Ok((low, key))
    }

    #[test]
    fn share_is_converted_to_whole_blocks() {
        assert_eq!(resolve(None, Some(0.2)), Ok((Some(102), "free_share_low")));
        assert_eq!(resolve(None, Some(0.0001)), Ok((Some(0), "free_share_low")));
        assert_eq!(resolve(Some(3), None), Ok((Some(3), "free_blocks_low")));
        assert_eq!(resolve(None, None), Ok((None, "free_blocks_low")));
    }

    #[test]
    fn two_watermarks_and_invalid_shares_are_refused() {
        let error = resolve(Some(3), Some(0.2)).unwrap_err();
        assert_eq!(error, "free_share_low: stands beside `free_blocks_low`; give one of them");
        for share in [0.0, 1.0, -0.1, f64::NAN] {
            let error = resolve(None, Some(share)).unwrap_err();
            assert!(
                error.starts_with("free_share_low: is ") && error.contains("above 0 and below 1"),
                "{error}"
            );
        }
    }
}
