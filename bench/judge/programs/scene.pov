#version 3.7;
global_settings { assumed_gamma 1 photons { count 8000 } }
camera { location <0, 3, -8> look_at <0, 0.7, 0> }
light_source { <5, 9, -6> color rgb 1 }
light_source { <-6, 5, -4> color rgb <0.4, 0.4, 0.6> }
plane { y, 0 pigment { checker color rgb 0.9, color rgb <0.2, 0.3, 0.5> } finish { reflection 0.15 } }
#declare draw = seed(7);
#declare i = 0;
#while (i < 120)
	sphere {
		<6 * rand(draw) - 3, 2.5 * rand(draw), 5 * rand(draw) - 2>, 0.1 + 0.2 * rand(draw)
		pigment { color rgb <rand(draw), rand(draw), rand(draw)> transmit 0.3 }
		finish { phong 0.8 reflection 0.2 }
		interior { ior 1.3 }
	}
	#declare i = i + 1;
#end
difference { box { <-1, 0, 2>, <1, 2, 3> } cylinder { <0, 1, 1>, <0, 1, 4>, 0.6 } texture { pigment { marble turbulence 1 } } }
