// Starts Debian's Chromium as nobody's browser: a fresh profile, and nothing that it does by itself.
import { chromium } from 'playwright-core';

export const EXECUTABLE = process.env.FATHOM_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let browser;

// run(page, seen) with a page of the file, in a context that has seen nothing before; seen has errors, requests and dialogs
export async function withPage(file, options, run) {
	browser ??= await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: FLAGS });
	const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, reducedMotion: 'reduce', ...options });
	try {
		const page = await context.newPage(), address = `file://${file}`, seen = { errors: [], requests: [], dialogs: [] };
		page.on('console', (message) => ['error', 'warning'].includes(message.type()) && seen.errors.push(message.text()));
		page.on('pageerror', (error) => seen.errors.push(error.message));
		page.on('request', (request) => request.url().split('#')[0] !== address && seen.requests.push(request.url()));
		page.on('dialog', (dialog) => {
			seen.dialogs.push(dialog.message());
			dialog.dismiss();
		});
		await page.goto(address);
		await page.waitForSelector('#contents a');
		await settle(page);
		return await run(page, seen);
	} finally {
		await context.close();
	}
}

export const close = () => browser?.close();

// Drawing waits for a frame; after two of them it has been done.
export const settle = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
