"""Draw what a link shows as a PNG, without a browser: 1200 by 630, as previews of links are."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from missioncontrol.history.sharing import Story

# What previews of links show whole (Open Graph's 1.91 to 1).
SIZE = WIDTH, HEIGHT = 1200, 630
EDGE = 72
GROUND, INK, INK_2, INK_3 = "#0c0d0f", "#f2f3f5", "#b0b4bd", "#8a8f9a"
# The dark theme's.
BARS = {"new": "#7d8694", "same": "#4c525d", "alarm": "#f5b83d"}
BARS_FOOT, DAYS_FOOT = 526, 488
TURNS_HEIGHT, DAYS_HEIGHT = 96, 150
LINES = 2

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def draw(story: Story) -> bytes:
    """Draw a story.

    Letters that the bundled face lacks are drawn as its empty box.
    """
    picture = Image.new("RGB", SIZE, GROUND)
    pen = ImageDraw.Draw(picture)
    pen.text(
        (EDGE, 64), _cut(pen, story.above, _font(30, 500), WIDTH - 2 * EDGE), INK_2, _font(30, 500)
    )
    y = 116
    for line in _wrapped(pen, story.title, _font(58, 650), LINES + (not story.text)):
        pen.text((EDGE, y), line, INK, _font(58, 650))
        y += 70
    for line in _wrapped(pen, story.text, _font(30, 400), LINES):
        pen.text((EDGE, y + 14), line, INK_2, _font(30, 400))
        y += 40
    if story.bars:
        foot, tall = (DAYS_FOOT, DAYS_HEIGHT) if story.has_days else (BARS_FOOT, TURNS_HEIGHT)
        above = 30 if story.has_days else 0
        pen.text((EDGE, foot - tall - above - 42), story.of_bars, INK_3, _font(22, 450))
        room = (WIDTH - 2 * EDGE) / story.slots
        for place, bar in enumerate(story.bars):
            left, top = EDGE + place * room, foot - round(bar.percent * tall / 100)
            box = (left, top, left + room - 6, foot)
            pen.rounded_rectangle(box, radius=3, fill=BARS[bar.kind])
            middle = left + (room - 6) / 2
            pen.text((middle, top - 30), bar.spent, INK_2, _font(22, 500), anchor="ma")
            pen.text((middle, foot + 8), bar.day, INK_3, _font(22, 450), anchor="ma")
    x = float(EDGE)
    for name, value in story.figures:
        pen.text((x, 556), value, INK, _font(34, 620))
        x += pen.textlength(value, _font(34, 620)) + 12
        pen.text((x, 565), name, INK_3, _font(25, 450))
        x += pen.textlength(name, _font(25, 450)) + 44
    mark, face = "Mission Control", _font(25, 600)
    pen.text((WIDTH - EDGE - pen.textlength(mark, face), 565), mark, INK_2, face)
    png = io.BytesIO()
    picture.save(png, "PNG")
    return png.getvalue()


def _wrapped(pen: ImageDraw.ImageDraw, text: str, font: Font, most: int) -> list[str]:
    """Break a text into lines; what the last has no room for is cut."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most:
        line = words.pop(0)
        while words and pen.textlength(f"{line} {words[0]}", font) <= WIDTH - 2 * EDGE:
            line = f"{line} {words.pop(0)}"
        lines.append(line)
    if lines and words:
        lines[-1] = f"{lines[-1]} {' '.join(words)}"
    return [_cut(pen, line, font, WIDTH - 2 * EDGE) for line in lines]


def _cut(pen: ImageDraw.ImageDraw, text: str, font: Font, room: float) -> str:
    text = " ".join(text[:400].split())  # Pillow measures no text of several lines
    if pen.textlength(text, font) <= room:
        return text
    # Sign by sign: widths differ, and a text is 400 signs at most.
    while text and pen.textlength(f"{text}…", font) > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


@cache
def _font(size: int, weight: int) -> Font:
    """Return the screens' own face; before they are built, the one that Pillow brings."""
    # Its name holds a hash of what it is.
    bundled = sorted(Path(settings.FRONTEND_DIST, "assets").glob("inter-latin-wght-normal*.woff2"))
    if not bundled:
        return ImageFont.load_default(size)
    font = ImageFont.truetype(bundled[0], size)
    font.set_variation_by_axes([weight])
    return font
