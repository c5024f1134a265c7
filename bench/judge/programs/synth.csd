<CsoundSynthesizer>
<CsInstruments>
sr = 44100
ksmps = 32
nchnls = 2
0dbfs = 1
seed 1
instr 1
	asaw vco2 0.08, p4
	afm foscili 0.08, p4, 1, 2.01, 3
	afilter moogladder asaw + afm, 800 + 600 * sin(p4), 0.6
	kend linseg 0, 0.1, 1, p3 - 0.2, 1, 0.1, 0
	al, ar reverbsc afilter * kend, afilter * kend, 0.8, 9000
	outs al, ar
endin
</CsInstruments>
<CsScore>
i 1 0 30 110
i 1 2 30 165
i 1 4 30 220
i 1 6 30 277
i 1 8 30 330
i 1 10 30 440
e
</CsScore>
</CsoundSynthesizer>
