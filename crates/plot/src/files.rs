//! Conversion of SVG to PDF, which keeps vector graphics, and to PNG.

use crate::Failure;
use resvg::tiny_skia::{IntSize, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Number of pixels of a PNG per unit of the figure, with which a figure at the width of a page is sharp.
const PNG_SCALE: f32 = 3.0;

/// Renderer of figures with the fonts of this machine, which are loaded once.
pub struct Renderer {
    options: Options<'static>,
}

/// Picture: red, green, blue and opacity of each pixel, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Four bytes per pixel.
    pub rgba: Vec<u8>,
}

impl Renderer {
    /// Loads the fonts of this machine.
    ///
    /// # Errors
    ///
    /// Returns an error if this machine has no font.
    pub fn new() -> Result<Renderer, Failure> {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        // Without a font, text would be missing from figures without any error.
        let family = fonts.faces().next().map(|face| face.families.first().map(|(name, _)| name.clone()));
        let Some(Some(first)) = family else {
            return Err("there is no font on this machine to write labels with; SVG needs none".into());
        };
        let known = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica"];
        let is_there =
            |name: &&str| fonts.faces().any(|face| face.families.iter().any(|(own, _)| own == name));
        let chosen = known.into_iter().find(is_there).map_or(first, str::to_owned);
        fonts.set_sans_serif_family(chosen);
        Ok(Renderer { options })
    }

    fn tree(&self, svg: &str) -> Result<Tree, Failure> {
        Ok(Tree::from_str(svg, &self.options)?)
    }

    fn pixmap(&self, svg: &str, scale: f32) -> Result<Pixmap, Failure> {
        let tree = self.tree(svg)?;
        let size = tree.size().to_int_size().scale_by(scale).ok_or("a figure of no size")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("a figure of no size")?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        Ok(pixels)
    }

    /// Renders a figure at `scale` pixels per unit; the figure must draw its own background.
    ///
    /// # Errors
    ///
    /// Returns an error for invalid SVG, and for a figure of size zero.
    pub fn pixels(&self, svg: &str, scale: f32) -> Result<Pixels, Failure> {
        let pixels = self.pixmap(svg, scale)?;
        Ok(Pixels { width: pixels.width(), height: pixels.height(), rgba: pixels.take() })
    }
}

impl Pixels {
    /// Encodes the picture as PNG.
    ///
    /// # Errors
    ///
    /// Returns an error if there are fewer bytes than the pixels need.
    pub fn png(self) -> Result<Vec<u8>, Failure> {
        let size = IntSize::from_wh(self.width, self.height).ok_or("a picture of no size")?;
        Ok(Pixmap::from_vec(self.rgba, size).ok_or("fewer bytes than points")?.encode_png()?)
    }
}

/// Converts a figure to PNG.
///
/// # Errors
///
/// Returns an error if there is no font or not enough memory.
pub fn png(svg: &str) -> Result<Vec<u8>, Failure> {
    Ok(Renderer::new()?.pixmap(svg, PNG_SCALE)?.encode_png()?)
}

/// Converts a figure to PDF with embedded fonts. The appearance is reproducible, but the order of the parts in the
/// file is not.
///
/// # Errors
///
/// Returns an error if this machine has no font.
pub fn pdf(svg: &str) -> Result<Vec<u8>, Failure> {
    let options = svg2pdf::ConversionOptions::default();
    svg2pdf::to_pdf(&Renderer::new()?.tree(svg)?, options, svg2pdf::PageOptions::default())
        .map_err(|error| error.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chart, Point, Series};

    #[test]
    fn charts_convert_to_pdf_and_reproducible_png() {
        let points = vec![Point { x: 1.0, y: 2.0, half_width: 0.5 }];
        let svg = Chart { title: "t", x: "x", y: "y" }
            .svg(&[Series { name: "one".into(), points, has_line: false }])
            .unwrap();
        match (png(&svg), pdf(&svg)) {
            (Ok(png_once), Ok(pdf_once)) => {
                assert!(png_once.starts_with(b"\x89PNG") && pdf_once.starts_with(b"%PDF"));
                assert!(png_once == png(&svg).unwrap(), "another PNG");
            }
            (Err(problem), _) | (_, Err(problem)) => {
                assert!(problem.to_string().contains("no font"), "{problem}")
            }
        }
    }
}
