// Colours that do not come from the style sheet: of costs, levels and routines.
import { css } from './dom.js';

const packed = (red, green, blue, alpha = 255) => ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;

export function pack(text, alpha = 255) {
	const value = parseInt(text.replace('#', ''), 16);
	return packed((value >> 16) & 255, (value >> 8) & 255, value & 255, alpha);
}

export function blend(first, second, share) {
	const a = parseInt(first.slice(1), 16), b = parseInt(second.slice(1), 16);
	const mix = (shift) => Math.round(((a >> shift) & 255) * (1 - share) + ((b >> shift) & 255) * share);
	return `#${[16, 8, 0].map((shift) => mix(shift).toString(16).padStart(2, '0')).join('')}`;
}

// Cheap loads are green, expensive ones blue, as in the figures that people of this field know; between them cyan.
export function costColours() {
	const stops = [css('--cost-low'), css('--cost-middle'), css('--cost-high')];
	const colours = [css('--cost-unknown')];
	for (let i = 0; i < 255; i++) {
		const at = (i / 254) * 2;
		colours.push(at < 1 ? blend(stops[0], stops[1], at) : blend(stops[1], stops[2], at - 1));
	}
	return colours;
}

export const levelColour = (index) => css(`--level-${Math.min(index, 5)}`);
export const routineColour = (index) => css(`--routine-${index % 10}`);
