// Numbers as text. A figure of the data is [value, low, high], or the reason why it is not available.
export const available = (figure) => Array.isArray(figure);
export const valueOf = (figure) => (available(figure) ? figure[0] : NaN);

export function number(value, digits = 3) {
	if (!Number.isFinite(value))
		return 'n/a';
	const size = Math.abs(value);
	if (size >= 1e6)
		return value.toLocaleString('en', { maximumFractionDigits: 0 });
	return String(Number(value.toPrecision(size >= 1000 ? 4 : digits)));
}

// "71 ±1.2"; "0–3" if the interval is lopsided; as in the text report.
export function interval(figure, scale = 1) {
	if (!available(figure))
		return 'n/a';
	const [value, low, high] = figure.map((x) => x * scale);
	const above = high - value, below = value - low, wide = Math.max(above, below);
	const digits = wide >= 1.95 ? 0 : scale === 100 || wide >= 0.195 || !(wide > 0) ? 1 : wide >= 0.0195 ? 2 : 3;
	const text = (x, most) => (most !== undefined && x >= most ? String(most) : x.toFixed(x > 0 ? digits : 0));
	const percent = scale === 100 ? 100 : undefined;
	if (!(wide > 0))
		return scale === 100 ? value.toFixed(1) : number(value);
	if (low <= 0 && high < 0.05)
		return '0';
	if (text(low) === text(high))
		return text(high);
	if (low <= 0 || wide > 2.5 * Math.min(above, below))
		return `${text(low)}–${text(high, percent)}`;
	return `${value.toFixed(digits)} ±${wide.toFixed(digits)}`;
}

export const percent = (figure) => interval(figure, 100);

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
export function bytes(value) {
	if (!(value >= 0))
		return 'n/a';
	let unit = 0;
	for (; value >= 1024 && unit + 1 < UNITS.length; unit++)
		value /= 1024;
	return `${number(value)} ${UNITS[unit]}`;
}

// A time with the digits that a span of this size needs.
export function time(seconds, span = seconds) {
	const size = Math.abs(span);
	const [scale, unit] = size >= 1 || size === 0 ? [1, 's'] : size >= 1e-3 ? [1e3, 'ms'] : size >= 1e-6 ? [1e6, 'µs'] : [1e9, 'ns'];
	const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10((size || 1) * scale))));
	return `${(seconds * scale).toFixed(digits)} ${unit}`;
}

export const count = (value) => Number(value).toLocaleString('en', { maximumFractionDigits: 0 });
export const fileName = (path) => (path ? path.slice(path.lastIndexOf('/') + 1) : '');

// "stream.c:20 (main)", as in the text report
export function lineName(line) {
	return line.file ? `${fileName(line.file)}:${line.line}` : `${line.function}${line.module ? ` in ${line.module}` : ''}`;
}
export const routineOf = (line) => line.inlined || line.function;
