//! Output of a film as an animated GIF, or as one PNG per step.

use crate::draw::svg;
use crate::film::Film;
use crate::layout::Layout;
use crate::state::State;
use gif::{DisposalMethod, Encoder, Repeat};
use wearwell_plot::{Failure, Pixels, Renderer};

/// Maximum number of steps of a GIF or of numbered pictures; a longer film needs a web page.
pub const MAX_PICTURES: usize = 1000;

/// Calls `emit` with the number and the picture of every step.
fn for_each_picture(
    film: &Film,
    mut emit: impl FnMut(usize, Pixels) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let steps = film.frames.len();
    if steps > MAX_PICTURES {
        return Err(format!(
            "{steps} steps are too many for pictures, of which there may be {MAX_PICTURES}; ask for fewer with --steps, or for \
             a page"
        )
        .into());
    }
    let (painter, layout, mut state) = (Renderer::new()?, Layout::of(film), State::of(film));
    for (at, frame) in film.frames.iter().enumerate() {
        state.apply(frame);
        emit(at, painter.pixels(&svg(film, &layout, &state, &frame.text), 1.0)?)?;
    }
    Ok(())
}

/// Returns the film as an endlessly repeated animated GIF with `pace` steps per second; the last step is shown two
/// seconds longer.
///
/// # Errors
///
/// Returns an error for too many steps, and if this machine has no font.
pub fn gif(film: &Film, pace: f64) -> Result<Vec<u8>, Failure> {
    let (mut encoder, mut before): (Option<Encoder<Vec<u8>>>, Option<Pixels>) = (None, None);
    let hundredths = (100.0 / pace).round().clamp(2.0, 6000.0) as u16;
    for_each_picture(film, |at, pixels| {
        let (width, height) = (pixels.width as u16, pixels.height as u16);
        if encoder.is_none() {
            let mut fresh = Encoder::new(Vec::new(), width, height, &[])?;
            fresh.set_repeat(Repeat::Infinite)?;
            encoder = Some(fresh);
        }
        let (left, top, mut part) = changed_area(before.as_ref(), &pixels);
        let mut frame =
            gif::Frame::from_rgba_speed(part.width as u16, part.height as u16, &mut part.rgba, 20);
        (frame.left, frame.top, frame.dispose) = (left as u16, top as u16, DisposalMethod::Keep);
        frame.delay = if at + 1 == film.frames.len() { hundredths + 200 } else { hundredths };
        encoder.as_mut().expect("there is one").write_frame(&frame)?;
        before = Some(pixels);
        Ok(())
    })?;
    Ok(encoder.ok_or("a film without steps")?.into_inner()?)
}

/// Returns the bounding box of the differences from the previous picture: its position and its pixels, at least one.
fn changed_area(before: Option<&Pixels>, now: &Pixels) -> (u32, u32, Pixels) {
    let Some(before) = before else { return (0, 0, now.clone()) };
    let (mut left, mut top, mut right, mut bottom) = (now.width, now.height, 0, 0);
    let points = before.rgba.chunks_exact(4).zip(now.rgba.chunks_exact(4));
    for (at, _) in points.enumerate().filter(|(_, (old, new))| old != new) {
        let (x, y) = (at as u32 % now.width, at as u32 / now.width);
        (left, right) = (left.min(x), right.max(x + 1));
        (top, bottom) = (top.min(y), bottom.max(y + 1));
    }
    if right == 0 {
        (left, top, right, bottom) = (0, 0, 1, 1);
    }
    let mut rgba = Vec::with_capacity(((right - left) * (bottom - top) * 4) as usize);
    for y in top..bottom {
        let first = ((y * now.width + left) * 4) as usize;
        rgba.extend_from_slice(&now.rgba[first..first + ((right - left) * 4) as usize]);
    }
    (left, top, Pixels { width: right - left, height: bottom - top, rgba })
}

/// Writes the film as PNG files: calls `emit` with a name, `step-0000.png` and so on, and the content.
///
/// # Errors
///
/// Returns an error for too many steps, and if this machine has no font. Errors of `emit` are returned.
pub fn frames(film: &Film, mut emit: impl FnMut(&str, &[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    for_each_picture(film, |at, pixels| emit(&format!("step-{at:04}.png"), &pixels.png()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_contain_only_the_changed_area() {
        let blank = Pixels { width: 4, height: 3, rgba: vec![255; 48] };
        let mut next = blank.clone();
        next.rgba[(4 + 2) * 4] = 0;
        next.rgba[(2 * 4 + 1) * 4] = 0;
        let (left, top, part) = changed_area(Some(&blank), &next);
        assert_eq!((left, top, part.width, part.height, part.rgba.len()), (1, 1, 2, 2, 16));
        let (left, top, part) = changed_area(Some(&blank), &blank);
        assert_eq!((left, top, part.width, part.height), (0, 0, 1, 1));
        assert_eq!(changed_area(None, &next).2.rgba, next.rgba);
    }
}
