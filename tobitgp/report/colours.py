"""Colours that colour-blind readers can tell apart, after Okabe and Ito."""

from __future__ import annotations

BLUE, VERMILION, GREEN, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#777777", "#222222"
PURPLE, SKY, OLIVE = "#CC79A7", "#56B4E9", "#8A7A00"
LEVELS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, OLIVE, INK)
