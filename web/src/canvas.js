// Panels of points: points are written into the memory of a canvas, because one call per point is slow.
import { css, element } from './dom.js';

// Margins left and right, equal for all panels.
export const GUTTER = 178;
export const MARGIN = 76;

export class PointCanvas {
	constructor(height, label) {
		this.height = height;
		this.canvas = element('canvas', { role: 'img', 'aria-label': label });
		this.context = this.canvas.getContext('2d', { willReadFrequently: true });
	}

	// Sizes follow the page and the resolution of the screen.
	resize(width) {
		this.ratio = Math.min(3, devicePixelRatio || 1);
		this.width = width;
		this.canvas.width = Math.round(width * this.ratio);
		this.canvas.height = Math.round(this.height * this.ratio);
		this.canvas.style.setProperty('width', `${width}px`);
		this.canvas.style.setProperty('height', `${this.height}px`);
		this.plot = { left: GUTTER, right: width - MARGIN, width: width - MARGIN - GUTTER };
	}

	clear() {
		this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		this.context.clearRect(0, 0, this.width, this.height);
	}

	// `paint(put, left, width)` calls put(x, y, colour) with device pixels; x from the left edge of the plot.
	points(size, paint) {
		const left = Math.round(this.plot.left * this.ratio), width = Math.max(1, Math.round(this.plot.width * this.ratio));
		const image = this.context.getImageData(left, 0, width, this.canvas.height);
		const pixels = new Uint32Array(image.data.buffer), height = this.canvas.height, side = Math.max(1, Math.round(size * this.ratio)), half = side >> 1;
		paint((x, y, colour) => {
			const x0 = Math.max(0, x - half), x1 = Math.min(width, x - half + side);
			const y0 = Math.max(0, y - half), y1 = Math.min(height, y - half + side);
			for (let row = y0; row < y1; row++)
				for (let column = x0; column < x1; column++)
					pixels[row * width + column] = colour;
		}, width);
		this.context.putImageData(image, left, 0);
	}

	// Where phases of a folded region begin.
	boundaries(places, begin, end) {
		const context = this.context;
		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.strokeStyle = css('--muted');
		context.setLineDash([2, 3]);
		for (const place of places.filter((one) => one > begin && one < end)) {
			const x = Math.round(this.plot.left + ((place - begin) / (end - begin)) * this.plot.width) + 0.5;
			context.beginPath();
			context.moveTo(x, 0);
			context.lineTo(x, this.height);
			context.stroke();
		}
		context.setLineDash([]);
	}

	text(text, x, y, { colour, align = 'left', size = 12, width, bold = false, baseline = 'middle' }) {
		const context = this.context;
		context.font = `${bold ? '600 ' : ''}${size}px system-ui, sans-serif`;
		context.fillStyle = colour;
		context.textAlign = align;
		context.textBaseline = baseline;
		let shown = text;
		// a long name loses its middle
		while (width && shown.length > 4 && context.measureText(shown).width > width) {
			const half = (shown.replace('…', '').length - 1) / 2;
			const plain = shown.replace('…', '');
			shown = `${plain.slice(0, Math.ceil(half))}…${plain.slice(plain.length - Math.floor(half))}`;
		}
		context.fillText(shown, x, y);
	}
}

export const pointSize = (visible) => (visible < 3000 ? 4 : visible < 20000 ? 3 : 2);

// The colour of points that the filter excludes.
export const FAINT = 0.2;
