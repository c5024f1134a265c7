// The page of 'fathom report --html' in a browser: node test.mjs SAMPLES HOSTILE STAT SIMULATED SQUEEZE EMPTY [SCREENSHOTS]
// Pages of a recording of samples, of one whose names and source are markup, of stat, of samples on a simulated machine,
// of squeeze, and of a recording without samples.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { close, settle, withPage } from './browser.mjs';

const [samples, hostile, stat, simulated, squeeze, scale, empty, screenshots] = process.argv.slice(2);
let passed = 0, failed = 0;

async function check(name, file, options, run) {
	try {
		await withPage(file, options, async (page, seen) => {
			await run(page, seen);
			assert.deepEqual(seen.errors, [], 'console errors');
			assert.deepEqual(seen.requests, [], 'requests');
			assert.deepEqual(seen.dialogs, [], 'dialogs');
		});
		passed++;
		console.log(`ok: ${name}`);
	} catch (error) {
		failed++;
		console.log(`FAILED: ${name}: ${error.message}`);
	}
}

const range = async (page) => page.evaluate(() => ['begin', 'end', 'shown'].map((name) => Number(document.querySelector('.panels').dataset[name])));
const pixels = async (page, index) => page.evaluate((at) => {
	const canvas = document.querySelectorAll('.stack canvas')[at], data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
	let sum = 0;
	for (let i = 0; i < data.length; i += 4)
		sum = (sum * 31 + data[i] * 3 + data[i + 1] * 5 + data[i + 2] * 7) % 2147483647;
	return sum;
}, index);
const wholeRun = async (page) => {
	await page.selectOption('#timeline-choice', { label: 'whole run' });
	await page.evaluate(() => document.getElementById('timeline').scrollIntoView());
	await settle(page);
};
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

await check('sections are there, findings first', samples, {}, async (page) => {
	const ids = await page.evaluate(() => [...document.querySelectorAll('main section')].map((one) => one.id));
	assert.equal(ids[0], 'findings');
	for (const id of ['machine', 'timeline', 'objects', 'lines', 'threads', 'source'])
		assert.ok(ids.includes(id), `section ${id} in ${ids}`);
	assert.equal(await page.locator('.stack canvas').count(), 2 + await page.locator('.stack .rates canvas').count());
	assert.ok(await page.locator('#machine .chart canvas').count() >= 1, 'the staircase');
	assert.match(await page.locator('#objects-table tbody').innerText(), /make_grid/);
});

await check('headings are not behind the list of contents', samples, { viewport: { width: 500, height: 800 } }, async (page) => {
	for (const id of ['machine', 'timeline', 'objects']) {
		await page.locator(`#contents a[href="#${id}"]`).click();
		await settle(page);
		const [heading, contents] = await page.evaluate((at) => [document.querySelector(`#${at} h2`).getBoundingClientRect().top, document.getElementById('contents').getBoundingClientRect().bottom], id);
		assert.ok(heading >= contents, `${id}: ${heading} is above ${contents}`);
	}
});

await check('a strict policy is in force', samples, {}, async (page, seen) => {
	await page.evaluate(() => {
		const script = document.createElement('script');
		script.textContent = 'window.ran = 1';
		document.body.append(script);
	});
	assert.equal(await page.evaluate(() => window.ran), undefined);
	const blocked = await page.evaluate(() => fetch('https://example.invalid/').then(() => 'sent', () => 'blocked'));
	assert.equal(blocked, 'blocked');
	assert.ok(seen.errors.length >= 2 && seen.errors.every((text) => /Content Security Policy|violates|Refused|Fetch API/i.test(text)), seen.errors.join());
	seen.errors.length = 0;
	seen.requests.length = 0;
});

await check('dragging zooms all panels, double-click shows everything', samples, {}, async (page) => {
	await wholeRun(page);
	const box = await page.locator('#panels-area').boundingBox(), before = [await pixels(page, 0), await pixels(page, 1)];
	await page.mouse.move(box.x + box.width * 0.25, box.y + 200);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 220, { steps: 4 });
	await page.mouse.up();
	await settle(page);
	const [begin, end] = await range(page);
	assert.ok(Math.abs(begin - 0.25) < 0.01 && Math.abs(end - 0.5) < 0.01, `${begin} … ${end}`);
	assert.notEqual(await pixels(page, 0), before[0]);
	assert.notEqual(await pixels(page, 1), before[1]);
	assert.match(await page.locator('#panel-words').innerText(), /Zoomed to/);
	await page.mouse.dblclick(box.x + 300, box.y + 300);
	await settle(page);
	assert.deepEqual((await range(page)).slice(0, 2), [0, 1]);
	assert.equal(await pixels(page, 1), before[1]);
});

await check('the pointer is told what it is over, in all panels', samples, {}, async (page) => {
	await wholeRun(page);
	const box = await page.locator('#panels-area').boundingBox();
	for (const y of [120, 330]) {
		await page.mouse.move(box.x + box.width * 0.4, box.y + y);
		await settle(page);
		assert.ok(await page.locator('.tip').isVisible());
		assert.ok(await page.locator('.cross').isVisible());
	}
	assert.match(await page.locator('.tip').innerText(), /(load of|store to)[^]*line[^]*thread[^]*cost/);
	await page.mouse.move(5, 5);
	await settle(page);
	assert.ok(!await page.locator('.tip').isVisible());
});

await check('rows filter the panels and take the filter back', samples, {}, async (page) => {
	await wholeRun(page);
	const [, , all] = await range(page), picture = await pixels(page, 1);
	for (const table of ['objects', 'lines', 'routines', 'threads']) {
		const row = page.locator(`#${table}-table tbody tr`).nth(1);
		await row.click();
		await settle(page);
		const [, , shown] = await range(page);
		assert.ok(shown > 0 && shown < all, `${table}: ${shown} of ${all}`);
		assert.notEqual(await pixels(page, 1), picture, table);
		assert.equal(await row.locator('.pick').getAttribute('aria-pressed'), 'true');
		assert.equal(await page.locator('.chip').count(), 1);
		await page.locator('.chip').click();
		await settle(page);
		assert.equal((await range(page))[2], all);
		assert.equal(await row.locator('.pick').getAttribute('aria-pressed'), 'false');
	}
	await page.locator('.source tr.hot.choosable').first().click();
	await settle(page);
	assert.ok((await range(page))[2] < all, 'a line of source');
});

await check('two filters are both kept', samples, {}, async (page) => {
	await wholeRun(page);
	await page.locator('#objects-table tbody tr').nth(0).click();
	await settle(page);
	const [, , one] = await range(page);
	await page.locator('#lines-table tbody tr').nth(2).click();
	await settle(page);
	const [, , both] = await range(page);
	assert.ok(both < one, `${both} < ${one}`);
	assert.equal(await page.locator('.chip').count(), 2);
	await page.keyboard.press('Escape');
	await settle(page);
	assert.equal(await page.locator('.chip').count(), 0);
});

await check('everything can be done with the keyboard', samples, {}, async (page) => {
	await wholeRun(page);
	await page.locator('#contents a').first().focus();
	await page.keyboard.press('g');
	assert.equal(await page.evaluate(() => document.activeElement.id), 'panels-area');
	await page.keyboard.press('+');
	await page.keyboard.press('+');
	await settle(page);
	const [begin, end] = await range(page);
	assert.ok(Math.abs(end - begin - 0.25) < 1e-6);
	await page.keyboard.press('ArrowRight');
	await settle(page);
	assert.ok((await range(page))[0] > begin);
	await page.keyboard.press('-');
	await page.keyboard.press('0');
	await settle(page);
	assert.deepEqual((await range(page)).slice(0, 2), [0, 1]);
	await page.locator('#objects-table .pick').first().focus();
	assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none');
	await page.keyboard.press('Enter');
	await settle(page);
	assert.equal(await page.locator('.chip').count(), 1);
	await page.keyboard.press('Escape');
	await settle(page);
	assert.equal(await page.locator('.chip').count(), 0);
	await page.keyboard.press('?');
	assert.ok(await page.locator('dialog').isVisible());
	await page.keyboard.press('Escape');
	assert.ok(!await page.locator('dialog').isVisible());
});

await check('tables can be sorted and say so', samples, {}, async (page) => {
	const head = page.locator('#objects-table thead th', { hasText: 'bytes' });
	await head.locator('button').click();
	assert.equal(await head.getAttribute('aria-sort'), 'descending');
	const largest = await page.locator('#objects-table tbody tr').first().innerText();
	await head.locator('button').click();
	assert.equal(await head.getAttribute('aria-sort'), 'ascending');
	assert.notEqual(await page.locator('#objects-table tbody tr').first().innerText(), largest);
});

await check('folded regions are timelines of their own', samples, {}, async (page) => {
	const names = await page.locator('#timeline-choice option').allInnerTexts();
	assert.ok(names.some((name) => /step, folded/.test(name)) && names.at(-1) === 'whole run', names.join());
	assert.match(await page.locator('#panel-words').innerText(), /instances folded into one/);
});

await check('more samples than are drawn are told', samples, {}, async (page) => {
	await wholeRun(page);
	assert.match(await page.locator('#panel-words').innerText(), /120,000 of 2\d\d,\d\d\d samples are drawn/);
});

for (const scheme of ['light', 'dark'])
	await check(`${scheme}: as the system has it, and switched`, samples, { colorScheme: scheme }, async (page) => {
		const dark = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) < 384;
		await wholeRun(page);
		const before = await pixels(page, 1);
		assert.equal(dark(await background(page)), scheme === 'dark');
		if (screenshots) {
			mkdirSync(screenshots, { recursive: true });
			await page.screenshot({ path: join(screenshots, `${scheme}.png`), fullPage: true });
		}
		await page.keyboard.press('t');
		await settle(page);
		assert.equal(dark(await background(page)), scheme !== 'dark');
		assert.notEqual(await pixels(page, 1), before);
		await page.locator('#theme').click();
		await settle(page);
		assert.equal(dark(await background(page)), scheme === 'dark');
	});

// Contrast of texts against what is behind them, as the accessibility guidelines compute it: 4.5 for small ones.
for (const scheme of ['light', 'dark'])
	await check(`${scheme}: texts can be read`, samples, { colorScheme: scheme }, async (page) => {
		const low = await page.evaluate(() => {
			const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
			const light = (colour) => {
				const [red, green, blue] = parts(colour).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
				return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
			};
			const behind = (node) => {
				for (let at = node; at; at = at.parentElement) {
					const colour = getComputedStyle(at).backgroundColor;
					if ((parts(colour)[3] ?? 1) === 1)
						return colour;
				}
				return 'rgb(255, 255, 255)';
			};
			return [...document.querySelectorAll('h1, h2, h3, p, th, td, td span, dd, dt, button, .name, .more, .value, .note, nav a, figcaption')].filter((node) => node.textContent.trim() && node.checkVisibility() && !node.closest('.hot, dialog') && getComputedStyle(node).opacity === '1').map((node) => {
				const a = light(getComputedStyle(node).color), b = light(behind(node));
				return { text: node.textContent.slice(0, 30), class: node.className, ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
			}).filter(({ ratio }) => ratio < 4.5);
		});
		assert.deepEqual(low, []);
	});

await check('on paper it is light and without controls', samples, { colorScheme: 'dark' }, async (page) => {
	await page.emulateMedia({ media: 'print' });
	await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
	assert.ok(!await page.locator('nav').isVisible());
	assert.ok(!await page.locator('#theme').isVisible());
	assert.match(await background(page), /25[0-5]/);
	const paper = await page.pdf({ format: 'A4' });
	assert.ok(paper.length > 10000);
});

await check('markup in names and source is shown, not run', hostile, {}, async (page) => {
	const text = await page.evaluate(() => document.body.innerText);
	assert.ok(text.includes('<script>window.hacked=1</script>'), 'a routine');
	assert.ok(text.includes('<img src=x onerror=window.hacked=2>'), 'an object');
	assert.ok(text.includes('</script><b>source</b><!--'), 'a line of source');
	assert.equal(await page.evaluate(() => window.hacked), undefined);
	assert.equal(await page.locator('main img, main script, main b b').count(), 0);
	await wholeRun(page);
	await page.locator('#objects-table tbody tr', { hasText: '<img' }).click();
	await settle(page);
	assert.match(await page.locator('.chip').innerText(), /<img src=x/);
	const box = await page.locator('#panels-area').boundingBox();
	await page.mouse.move(box.x + box.width * 0.4, box.y + 300);
	await settle(page);
	assert.equal(await page.evaluate(() => window.hacked), undefined);
});

await check('what stat recorded is a page too', stat, {}, async (page) => {
	const ids = await page.evaluate(() => [...document.querySelectorAll('main section')].map((one) => one.id));
	assert.deepEqual(ids.slice(0, 2), ['verdict', 'findings']);
	for (const id of ['levels', 'cycles', 'lines'])
		assert.ok(ids.includes(id), `section ${id} in ${ids}`);
	assert.match(await page.locator('#verdict').innerText(), /confidence \d\.\d\d[^]*Evidence/);
	// core, three caches, memory; between them four arrows with a rate and a share of at most 100 %
	assert.deepEqual(await page.locator('#memory-chart .level b').allInnerTexts(), ['core', 'L1', 'L2', 'L3', 'memory']);
	const arrows = await page.locator('#memory-chart .traffic').allInnerTexts();
	assert.equal(arrows.length, 4);
	for (const text of arrows)
		assert.match(text, /[\d.]+ GB\/s\s+(100|\d?\d) % of peak\s+.* read/);
	assert.match(await page.locator('#stat-levels tbody').innerText(), /L1[^]*memory/);
});

for (const [name, file] of [['samples', samples], ['stat', stat], ['squeeze', squeeze], ['scale', scale]])
	await check(`${name}: nothing is wider than a telephone`, file, { viewport: { width: 420, height: 900 } }, async (page) => {
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 420, 'the page scrolls sideways');
	});

await check('regions and phases tell how long they take and which line is seen most', samples, {}, async (page) => {
	assert.match(await page.locator('#regions-table tbody').innerText(), /step[^]*ms[^]*\w+\.c:\d+/);
	assert.match(await page.locator('#phases-table tbody').innerText(), /step 1[^]*0–\d+[^]*ms[^]*\w+\.c:\d+/);
	const all = (await range(page))[2];
	await page.locator('#phases-table tbody tr').first().click();
	await settle(page);
	assert.ok((await range(page))[2] < all, 'a phase filters by its line');
});

await check('a simulated machine has a staircase, and working sets beside it', simulated, {}, async (page) => {
	assert.equal(await page.locator('#machine .chart canvas').count(), 1);
	assert.match(await page.locator('#machine figcaption').innerText(), /as the simulated machine is described[^]*working sets/);
	assert.match(await page.locator('#machine').innerText(), /L1 32 KiB, L2 256 KiB, L3 30 MiB/);
});

await check('what squeeze recorded is a page too', squeeze, {}, async (page) => {
	const ids = await page.evaluate(() => [...document.querySelectorAll('main section')].map((one) => one.id));
	assert.deepEqual(ids.slice(0, 2), ['findings', 'less']);
	assert.match(await page.locator('.facts').innerText(), /L3 in use/);
	assert.ok(await page.locator('#less .chart canvas').count() >= 1, 'time against the cache');
	assert.ok(await page.locator('#less-table tbody tr').count() > 2);
});

await check('what scale recorded is a page too', scale, {}, async (page) => {
	const ids = await page.evaluate(() => [...document.querySelectorAll('main section')].map((one) => one.id));
	assert.deepEqual(ids.slice(0, 4), ['findings', 'speedup', 'processors', 'fit']);
	assert.match(await page.locator('.facts').innerText(), /serial/);
	assert.equal(await page.locator('#speedup .chart canvas').count(), 1);
	assert.equal(await page.locator('#scale-table tbody tr').count(), 3);
	assert.equal(await page.locator('#processors .level-bar').count(), 3);
	assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /NaN|undefined/);
});

await check('a recording without samples says so', empty, {}, async (page) => {
	assert.match(await page.locator('#findings').innerText(), /No findings: 0 samples are too few/);
	assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /n\/a %|NaN|undefined/);
});

await close();
console.log(`${passed + failed} checks, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
