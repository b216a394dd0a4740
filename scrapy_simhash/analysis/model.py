"""The table of the model that chooses the main text: see main_blocks.py.

Made by benchmarks/train_main_text.py from the 1,497 development pages of WCXB, the Web Content
Extraction Benchmark (Murrough Foley, 2026, CC-BY-4.0).  Nothing of these pages is in it but words
that occur in the names of elements on 30 of their domains or more.  Licence: the package's.
"""

_NAMES = """
aa=-0.6 about=-1.5 above=-0.9 absolute=-1.8 ac=-0.8 accent=-1.1 accept=-0.9 account=-1.3
action=-1.4 actions=-1.4 active=-1.1 ad=-0.6 add=-0.9 additional=-0.7 address=-1.4 ae=-1 af=-1
after=-1 ajax=-1.3 akismet=-0.8 alert=-1 align=-1.6 aligncenter=-1.5 aligned=-1.1 alignfull=-1.2
alignment=-0.6 all=-1.1 alt=-1.4 am=-1.4 ancestor=-2 animated=-0.9 animation=-1.3 announcement=-2
answer=1.4 ap=-1 archive=-1.4 arrow=-1.1 arrows=-0.8 article=0.8 articles=-1.8 as=-0.7 aside=-2.3
at=-0.9 attribution=-0.8 author=-1.8 authors=-1.3 auto=-1.3 avatar=-1.1 ba=-0.9 back=-1
background=-0.9 badge=-1.1 badges=-0.9 banner=-1.6 bar=-1.9 base=-1.1 basis=-0.6 bc=-0.9 bd=-0.9
be=-0.7 before=-0.9 below=-1.2 benefits=1.1 between=-1.8 bf=-0.7 bg=-0.9 big=-0.9 bio=-1.9 bl=-1.1
black=-1.2 blockquote=0.9 blocks=-0.8 blue=-0.9 blurb=-1 bold=-1 book=-1 border=-1.2 bottom=-1.7
box=-1 br=-0.7 brand=-0.8 branding=-1.2 brands=-1.3 breadcrumb=-1.2 breadcrumbs=-1.3 browser=-1.5
bt=-1.3 btn=-1.5 btns=-1 burger=-2.4 button=-1.7 buttons=-1.6 by=-0.9 byline=-1.6 ca=-0.8 calc=-1.3
call=-1.3 can=0.7 canvas=-1 caption=-1.5 card=-1 carousel=-1.2 cart=-1.3 case=-0.7 cat=-1.3
categories=-1.5 cb=-0.9 cc=-0.7 cd=-0.7 ce=-0.7 center=-1.4 centered=-0.7 cf=-0.7 change=-0.6
checkbox=-1.1 children=-2.6 choose=0.8 chrome=-0.9 clamp=-0.9 classic=-1 clear=-0.7 click=-1.3
close=-0.8 closed=-1.2 col=-0.6 collapse=-1.5 collapsed=-1.1 collapsible=-1.1 collection=-0.6
colophon=-2.4 color=-1.1 colors=-1 cols=-1.1 column=-1.1 columns=-1 comment=-1.9 commentform=-1.9
comments=-1.8 community=-1.1 compact=-0.6 company=-1.5 compare=-0.7 component=-0.8 con=-0.6
consent=-1.7 contact=-1.7 contains=-1.3 contents=-1.1 control=-1.2 controls=-1 cookie=-1.8
cookies=-1.2 copy=-0.7 copyright=-1.5 core=-0.7 count=-1.1 counter=-0.9 country=-1.1 create=-0.7
credit=-1.1 ct=-0.8 cta=-1.7 ctas=-1.5 current=-1.5 cursor=-1.5 custom=-1.3 customer=-0.8 da=-1
dark=-1.1 data=-0.6 date=-1.4 db=-0.8 dc=-0.9 dd=-0.8 de=-0.9 demo=-1.8 depth=-2.2 desc=-0.8
description=-0.6 desktop=-1.7 details=-0.9 df=-0.9 dialog=-1.5 direction=-2.1 disabled=-1.1
disclaimer=-1.6 disclosure=-1.4 display=-0.7 divider=-0.8 dl=-0.9 dm=-1.1 dom=-1.2 down=-1.2
download=-0.7 drawer=-2 drop=-1.4 dropdown=-2.3 dt=-0.7 duration=-1.4 dyn=-2 dynamic=-0.9 dz=-1.2
ea=-0.7 ease=-0.9 eb=-0.9 ed=-0.8 ee=-0.8 ef=-0.7 el=-1.7 element=-0.9 elements=-0.9 ellipsis=-0.7
email=-1.2 empty=-1.1 en=-0.7 enabled=-0.8 end=-1.7 entry=0.9 equal=-1.5 error=-1.3 es=-1.1
even=-1.7 events=-1.1 ex=-1.2 excerpt=-1.1 expand=-1.6 expanded=-1.7 explore=-1 external=-1.5
extra=-1.2 ey=-0.7 eyebrow=-0.8 fa=-0.6 facebook=-1 fade=-1.5 false=-1.5 faq=1.2 faqs=1 fb=-0.7
fc=-1 fe=-1.3 featured=-0.9 feed=-0.6 feedback=-1.5 ff=-1 fg=-0.7 field=-1 fields=-1.5
fieldset=-1.5 figcaption=-1.6 figure=-1.2 fill=-1.2 filter=-1.2 filters=-0.8 find=-0.7 first=-0.6
fit=-0.9 fixed=-1.4 fl=-1.5 flat=-1.5 flex=-1.3 float=-1.2 floating=-0.6 flow=-0.7 fluid=-0.9
flyout=-1.6 fn=-0.9 focus=-0.9 follow=-1.2 font=-1 foot=-1.8 footer=-2.6 form=-1.8 framework=-1.2
from=-0.7 fs=-1.1 ft=-1.3 fu=-1.4 full=-0.7 fullwidth=-0.7 fv=-1.3 fw=-1.2 gallery=-0.9 gap=-1.1
gb=-1.2 general=-0.7 get=-0.8 gf=-1.1 gfield=-1.5 gform=-1.6 gh=-1.1 gk=-1.7 global=-1.2 gq=-1.5
gradient=-1 gray=-0.9 grey=-1 grid=-0.9 group=-1.5 grow=-1.3 gs=-1.1 guest=-1.1 half=-1.1
hamburger=-1.4 has=-1 hc=-1 head=-1.4 header=-2 headline=-0.7 height=-0.7 help=-1.2 hentry=1
hero=-0.7 hidden=-1.5 hide=-1.3 holder=-1.5 home=-0.7 horizontal=-1.7 hover=-1.4 how=1.4 hs=-0.9
icon=-1.3 icons=-1.2 id=-0.6 if=-0.9 ignore=-1.2 image=-0.9 images=-0.8 img=-0.7 inactive=-1.3
industry=-0.7 info=-1.5 information=-0.7 inherit=-1.2 init=-1.3 initial=-1.2 inline=-1.4 inner=-1
input=-1.3 inset=-1.4 inside=-1.1 instagram=-1.1 inverse=-1.3 inverted=-1.1 invisible=-1.6 ip=-1.4
is=-0.8 item=-2.1 items=-1.8 jc=-1 job=-1 jp=-1.3 jump=-1.2 justification=-1.5 justified=-2.1
justify=-1.6 kd=-0.8 key=0.7 kp=-1.5 label=-1.1 labels=-1.3 landscape=-1.2 lang=-1.1 language=-1.2
large=-0.7 last=-0.9 latest=-1.7 lb=-0.7 learn=-0.7 left=-1.4 legacy=-0.7 legal=-1.6 legend=-1
level=-1.8 lg=-0.8 li=-1.1 light=-1 like=-1.3 line=-1.1 link=-1.8 linkedin=-0.9 links=-2 list=-1.5
listing=-0.9 lists=-0.8 lo=-0.8 load=-0.9 loading=-0.9 local=-0.8 location=-0.9 logged=-1
login=-1.4 logo=-1 long=0.9 loop=-1.5 lp=-1.1 ls=-1.1 lw=-1.2 ly=-1.2 margin=-0.7 marketing=-0.8
masthead=-2.5 mb=-0.9 mc=-1.2 md=-0.8 me=-1.1 media=-1 medium=-0.9 mega=-2.3 megamenu=-2.4
menu=-2.6 menus=-2.3 message=-1 meta=-1.8 metadata=-2 mid=-1.3 middle=-1.3 min=-0.9 mini=-0.9
ml=-1.4 mm=-1.5 mob=-1.4 mobile=-1.8 modal=-1.8 more=-1.3 mr=-1.1 ms=-1.6 msg=-0.9 mt=-1 multi=-1.1
muted=-1.1 mx=-0.7 my=-1 name=-0.6 narrow=-0.7 nav=-2.7 navbar=-2.5 navigation=-2.4 nested=-0.9
network=-1.2 neutral=-1.1 new=-0.9 news=-0.8 newsletter=-1.5 next=-0.8 nl=-0.8 none=-1.3 not=-0.9
notes=-1 notice=-1.5 notification=-1.1 nowrap=-1.5 nu=-1.5 number=-0.6 ny=-1 object=-2.8 oc=-1.5
odd=-1.7 off=-1.1 offcanvas=-1.7 offer=-1.4 offset=-0.8 on=-1 one=-0.9 only=-1.2 opacity=-1.4
open=-1.2 opt=-1 option=-1.7 options=-1.1 orange=-0.9 order=-1 ot=-1.3 other=-0.8 our=-1.1 out=-1.1
outer=-1.1 outline=-1.1 overflow=-1.1 overlay=-1.5 ow=-1.3 pa=-0.9 padding=-0.6 pages=-1.2
pagination=-1.7 pane=-0.9 panel=-1.2 parent=-1.5 part=-1.6 pb=-0.7 pe=-0.9 phone=-1 photo=-0.8
pinterest=-1 pl=-0.8 placeholder=-0.9 plain=-1.4 pointer=-2 policy=-1.3 popover=-1.7 popular=-1.3
popup=-2.1 pos=-1.1 position=-1.2 posts=-2.2 powered=-1 pq=-1 pr=-1 prev=-1.4 preview=-0.8
previous=-1.2 primary=-1.2 print=-1.6 privacy=-1.3 products=-1 profile=-1.1 promo=-1.2 prompt=-1.4
prose=2 ps=-1.2 pt=-0.8 publish=0.9 published=-1.7 px=-0.8 py=-1.3 qe=-1 quantity=-0.9
questions=-0.8 radio=-1 radius=-1.4 radix=-1.9 rail=-1 rating=-1 ratings=-1 read=-1 reader=-1.2
recent=-1.9 recommended=-1.5 red=-1 register=-1.2 regular=-0.7 related=-2.2 relative=-1.1 rem=-1.2
remove=-0.8 repeater=-1.5 reply=-0.7 request=-1.1 required=-1.5 reset=-0.7 resources=-1.7
respond=-1.9 result=-0.7 results=-0.8 reverse=-0.9 review=-0.6 reviews=-0.8 rich=1.1 richtext=1.4
right=-1.6 ring=-1.2 rounded=-1.2 row=-0.7 rows=-0.6 rte=1.6 sale=-0.6 save=-0.7 sb=-1.2 scale=-1.1
screen=-1.1 scroll=-1.2 scrollbar=-1.6 scroller=-1.6 sd=-1.2 sdk=-1.5 search=-1.3 searchform=-1
second=-1.2 secondary=-1.6 sections=-1.4 select=-1.3 selected=-1.1 selection=-0.6 selector=-1.5
self=-1 semibold=-1.2 separator=-1 service=-0.8 services=-1 settings=-1.4 sf=-1.6 shadow=-1.4
shape=-0.9 share=-1.4 sharing=-1.3 shop=-1 shortcode=-1.6 show=-1.2 shrink=-0.9 side=-1.4
sidebar=-1.3 sign=-1.4 signature=-1.5 signup=-1.7 simple=-0.8 site=-0.7 size=-1.3 sk=-1.5 skin=-1.3
skip=-1.1 slide=-1.2 slider=-0.7 slogan=-1.6 slot=-0.7 sm=-1.2 small=-1.1 social=-1.5 socials=-1.6
solid=-0.8 solutions=-1.2 sort=-1.1 source=-1 space=-1.2 spacer=-0.7 sr=-1.2 ss=-0.8 st=-0.8
stacked=-0.9 start=-1.2 state=-1 static=-1.1 status=0.7 sticky=-1.8 store=-1.1 stories=-0.7
stretch=-1.9 style=-0.9 sub=-2.4 subheader=-0.9 sublabel=-1.5 submenu=-2.5 submit=-1 subnav=-1.9
subscribe=-1.7 subscription=-1.4 subtitle=-0.7 success=-1.1 support=-0.7 svg=-0.8 swiper=-1.6
switch=-0.8 switcher=-1.7 ta=-1.2 tab=-1 tablet=-1.7 tabs=-1 tagline=-1.1 tags=-1.5 taxonomy=-2.2
tb=-1 tbody=0.8 te=-1.4 team=-0.8 teaser=-1.3 terms=-1.4 tertiary=-1.1 test=-1.1 text=-0.7
textarea=-0.9 textwidget=-2.2 tg=-0.7 the=0.7 third=-1.2 thread=-1.3 three=-0.9 tight=-0.7
tile=-0.8 time=-0.9 title=-1.3 toc=-1.9 toggle=-1.7 tool=-0.8 toolbar=-1.2 tools=-0.7 tooltip=-1.3
top=-1.5 topbar=-1.7 topics=-1.9 total=-0.7 touch=-0.7 track=-0.9 tracking=-0.8 transform=-1.7
transition=-1.5 translate=-1.6 trending=-1.6 trigger=-1.2 trust=-0.6 tw=-0.7 twitter=-1 two=-0.7
txt=-0.9 type=-0.7 ua=-1.7 uc=-1.1 ul=-1.2 undefined=-0.9 underline=-1.3 unstyled=-2.3 up=-0.9
update=-0.7 updated=-1.2 upper=-1.8 uppercase=-1.5 uq=-1.6 url=-0.9 us=-1.4 user=-0.9 utility=-1.7
validation=-1.5 var=-0.6 variant=-0.6 vc=-0.6 vertical=-1.2 vh=-1.2 views=-1.4 visibility=-1.5
visible=-1.5 visually=-1.2 vm=-0.9 vw=-1.1 wa=-0.9 warning=-0.9 web=-0.6 website=-0.6 weight=-0.9
wf=-1.2 what=0.9 white=-1.1 whitespace=-0.7 wide=-0.9 widget=-1.7 widgets=-1.7 width=-0.8
window=-0.8 with=-0.6 without=-0.7 wrap=-1 wrapper=-0.8 wt=-1.2 xb=-1.4 xs=-1.1 yes=-1.3
youtube=-0.6 yt=-1 zd=-1.4 zk=-1.8 zx=-1.7
"""

# The log odds that a block is main text, below an element with this word in its tag, class or id.
NAMES = {word: float(odds) for word, odds in (pair.split("=") for pair in _NAMES.split())}

# Trees, between semicolons.  The nodes of each in order: a feature with its bound, the tree for
# values up to it, the tree for greater ones; or a value.
TREES = """
long_2<0.1182 links_3<0.3891 kind<14.5 -0.01 -0.241 -0.3 share_4<0.3025 long_before_share<0.8337
    again<1e-35 0.167 -0.198 -0.15 kind<14.5 0.359 -0.00862;
beside<1e-35 long_3<0.3339 series<10.5 -0.122 long_1<0.3271 0.0162 0.223 series<3.5 0.0361
    again<1e-35 0.281 -0.102 size_2<7198 -0.33 -0.0252;
long_3<0.2006 names<-6.129 -0.238 best_name<0.75 -0.117 0.0967 share_3<0.05378 names<-6.129 -0.112
    0.131 ends<1e-35 kind_behind<17.5 0.112 -0.154 0.243;
mean_2<61.59 main<1e-35 best_name<0.75 -0.234 -0.0651 name_2<-1.25 -0.105 0.0737 kind<13.5
    links_4<0.1582 copies<1.5 0.2 -0.044 -0.000661 -0.0775;
beside<1e-35 kind<14.5 share_4<0.04978 place<0.7469 0.0632 -0.13 series<4.5 0.0561
    page_size<5.253e+04 0.216 -0.13 series<8.5 -0.153 0.0125 -0.243;
long_3<0.143 worst_name<-2.15 -0.217 page_links<0.6394 -0.0662 0.174 series<3.5 place<0.8082
    -0.0253 -0.242 share_4<0.4975 names<-11.42 -0.108 0.106 0.204;
beside<1e-35 kind_before<18.5 links<0.3288 series<2.5 0.014 page_size<4.917e+04 0.173 -0.0918
    page_links<0.6394 -0.108 0.206 -0.0445 main<1e-35 -0.227 -0.0469;
name<-1.35 page_long<0.007718 0.165 -0.145 share_3<0.04853 links_2<0.6037 name_2<-1.25 -0.0812
    0.0859 -0.149 footer<1e-35 place<0.7678 0.179 0.029 -0.319;
names<-7.554 kind<9.5 footer<1e-35 0.00775 -0.242 -0.143 links_2<0.1237 name<-1.15 -0.0596
    footer<1e-35 copies<1.5 0.153 -0.0136 -0.296 -0.0344;
long_1<0.5042 links_behind<0.7789 series<6.5 -0.094 form<1e-35 0.0722 -0.203 page_links<0.6843
    -0.165 0.0501 place<0.8281 series<1.5 -0.038 0.129 -0.096;
beside<1e-35 copies<1.5 place<0.8472 place<0.04057 -0.155 kind_behind<10.5 pre<1e-35 0.14 -0.14
    0.0456 -0.076 -0.0824 article<1e-35 -0.193 0.0283;
beside<1e-35 place<0.7023 kind<10.5 kind<1.5 -0.233 share_3<0.02786 0.0552 0.144 -0.00318
    share_3<0.4559 -0.062 0.066 share_3<0.6106 -0.177 0.0837;
worst_name<-1.75 main<1e-35 long_4<0.286 -0.14 from_heading<114.5 series<7.5 -0.0653 0.12 -0.181
    copies<1.5 0.053 -0.105 series<15.5 0.0309 0.136;
ends<1e-35 nav<1e-35 page_long<0.01512 0.13 long_before_share<0.852 long_before_share<0.0389 -0.157
    -0.00466 -0.145 -0.189 again<1e-35 long_before_share<0.8966 0.0894 -0.0681 -0.176;
beside<1e-35 series<10.5 long_before_share<0.6673 mean_1<162.3 -0.0137 0.109 -0.0913 form<1e-35
    0.0855 -0.105 links_3<0.07615 footer<1e-35 0.0185 -0.233 -0.173;
name_2<-1.25 place<0.8661 from_heading<1e-35 from_heading<-5.006e+05 0.00133 -0.201
    from_heading<85.5 0.0451 -0.0657 -0.169 ends<1e-35 mean_1<356.5 0.00388 -0.385 0.092;
worst_name<-1.55 series<11.5 long_before_share<0.6004 long_before_share<0.1178 -0.106 0.0261 -0.121
    share_3<0.7043 page_size<2.402e+04 long_4<0.4861 -0.0137 0.151 -0.118 0.14 0.0695;
best_name<0.75 worst_name<-1.45 place<0.7678 from_heading<1e-35 from_heading<-5.006e+05 0.0401
    -0.193 from_heading<99.5 0.0467 -0.0915 -0.15 place<0.04057 -0.296 0.069 0.0414;
beside<1e-35 series<20.5 kind_before<15.5 kind_before<1e-35 -0.223 0.0203 -0.0553 ol<1e-35 0.0767
    name_2<-1.75 -0.403 0.0509 links_4<0.07803 0.00128 -0.149;
again<1e-35 footer<1e-35 from_heading<1e-35 from_heading<-5.006e+05 0.071 -0.193 from_heading<54.5
    size<117.5 0.0411 0.147 ol<1e-35 0.0102 -0.17 -0.208 -0.102;
best_name<0.85 again<1e-35 main<1e-35 worst_name<-2.15 -0.105 -0.00935 kind<8.5 0.0671 size<556.5
    0.000285 -0.273 -0.105 name<-1.25 -0.0232 0.075;
page_size<5.253e+04 series<5.5 place<0.6791 place<0.09239 -0.129 0.0158 -0.101 share_4<0.4975
    page_long<1e-35 0.433 -0.0084 0.102 share_4<0.1643 -0.0271 -0.341;
name_2<-1.25 kind_before<3.5 kind_before<1e-35 -0.204 0.0755 kind<3.5 0.099 worst_name<-1.55
    -0.0896 0.0434 series_links<0.05227 series<11.5 0.0113 0.108 -0.031;
page_size<2.402e+04 long_before_share<0.9092 size<16.5 -0.047 again<1e-35 0.0501 -0.0652
    page_long<0.05298 0.125 -0.111 best_name<0.85 -0.0997 page_size<7.024e+04 0.045 -0.263;
form<1e-35 page_long_blocks<6.5 0.101 name<-1.55 kind<5.5 0.0442 -0.0771 hidden<1e-35
    page_size<4.917e+04 long_4<0.5589 0.00901 0.0862 -0.155 -0.117 -0.136;
long_before<27.5 series_mean<155.1 long_before_share<0.1001 -0.0636 page_long<0.007718 0.259 0.018
    ends<1e-35 -0.0739 0.0974 long_before_share<0.9351 ol<1e-35 -0.00526 -0.184 -0.118;
footer<1e-35 name_2<-1.25 page_long<0.05298 0.0567 place<0.6122 name<-1.55 -0.0579 0.0354
    page_long<0.5574 -0.0704 -0.41 long_before<1.5 -0.0453 0.042 -0.192;
series<1.5 -0.0614 place<0.6122 place<0.09239 -0.0594 from_heading<72.5 series_mean<16.02 -0.0309
    0.0874 0.00411 series<29.5 -0.0425 size_3<3.884e+04 0.0453 -0.242;
kind_behind<21 page_size<2.402e+04 series<20.5 page_size<5238 0.0561 -0.02 0.0831
    page_links<0.04142 page_long<0.3539 -0.441 page_size<4.406e+04 0.108 -0.272 -0.0243 -0.104;
footer<1e-35 share_4<0.9731 copies<1.5 page_links<0.7224 links<0.158 share_3<0.4559
    page_size<1.074e+04 0.0556 -0.00942 0.0864 -0.0334 0.149 -0.0396 -0.103 -0.183;
form<1e-35 series<1.5 -0.0457 again<1e-35 dl<1e-35 links_behind<0.7789 0.0471 page_long<0.1208
    0.0524 -0.0844 -0.161 size<106.5 -0.0297 -0.22 -0.122;
footer<1e-35 kind_before<3.5 kind_before<1e-35 -0.171 0.0727 kind<4.5 0.0681 name_2<-1.25 -0.0467
    series_links<0.04766 series_links<0.001707 0.00991 0.114 -0.0401 -0.173;
aside<1e-35 from_heading<1e-35 from_heading<-5.006e+05 0.0264 -0.163 place<0.5432 hidden<1e-35
    series_mean<10.5 -0.0437 0.0601 -0.0749 ul<1e-35 -0.0341 0.049 -0.176;
kind<21 page_size<3514 0.0857 links<0.1387 kind_behind<18.5 page_size<4.917e+04 0.0369 -0.0958
    page_size<1.123e+04 share_4<0.4975 0.0732 -0.12 -0.0718 -0.0391 -0.127;
page_long<0.007718 name_3<-0.3 0.242 -0.144 footer<1e-35 place<0.04057 -0.11 aside<1e-35
    place<0.6574 0.0241 page_links<0.7224 -0.0233 0.172 -0.159 -0.183;
share_4<0.9731 form<1e-35 nav<1e-35 page_links<0.279 links_before<0.6133 0.0136 -0.0638 0.042
    -0.0933 page_long_blocks<72.5 -0.0355 -0.257 size_2<1.748e+04 -0.0525 -0.238;
kind_before<4.5 kind_before<1.5 -0.0798 0.0623 kind<4.5 kind<1.5 -0.092 0.075 name_2<-1.25 -0.0446
    series_mean<364.7 0.00904 worst_name<-1.35 -0.0248 -0.267;
series<30.5 page_long_blocks<11.5 series<4.5 -0.025 kind_before<19.5 0.0351 0.182 hidden<1e-35
    -0.0164 -0.116 share_4<0.4975 0.00471 page_long_blocks<119.5 0.131 -0.0394;
kind_before<21 place<0.8993 place<0.1768 from_heading<1e-35 -0.116 long_before_share<0.2775 0.018
    -0.305 ul<1e-35 place<0.5215 0.0284 -0.0211 0.058 -0.0619 -0.0894;
form<1e-35 place<0.09239 -0.0556 again<1e-35 place<0.5432 0.0365 size_2<40.5 0.0815 -0.0152
    size<69.5 -0.00449 -0.16 links_2<0.1539 -0.13 0.058;
footer<1e-35 ends<1e-35 long_1<1e-35 links_4<0.02338 0.0609 -0.019 size_2<1.748e+04 -0.0513 -0.277
    series_links<0.001707 page_size<1.53e+04 0.0156 -0.0669 0.0547 -0.141;
kind<1e-35 -0.179 kind<3.5 0.061 page_size<3514 0.0646 kind_before<3.5 0.036 worst_name<-1.75
    page_long<1e-35 0.431 names<-7.554 -0.0627 -0.00415 0.00719;
size_behind<17.5 page_links<0.04142 page_long_blocks<113.5 0.188 -0.153 long_3<0.143 best_name<0.85
    -0.027 0.0959 -0.0575 footer<1e-35 series_links<0.1576 0.0239 -0.0159 -0.163;
best_name<0.95 kind<21 links_4<1e-35 0.0302 -0.0116 -0.118 ul<1e-35 name_3<0.85 0.0244
    name_2<-1e-35 -0.262 0.0177 name_2<-3.65 -0.0886 0.172;
series<30.5 figure<1e-35 size_behind<16.5 -0.0376 0.00703 -0.176 page_size<2.283e+04 0.0759
    name<-1.45 -0.171 page_links<0.2045 links_4<0.126 -0.00411 -0.258 0.111;
footer<1e-35 size_before<1.5 -0.122 names<-16.37 worst_name<-1.95 best_name<0.95 -0.0234 0.192
    long_3<0.005038 0.21 0.0325 kind_before<21 0.00243 -0.0919 -0.125;
share_4<0.9731 series<141.5 share_4<0.8419 -0.00602 size_behind<5.5 -0.26 0.0605 size_2<1286
    long_before_share<0.0389 -0.144 0.195 -0.0752 long_2<0.6384 -0.122 0.018;
page_size<5238 mean_1<146.3 names<-9.62 worst_name<-1.95 -0.022 0.135 links_2<0.8498 ul<1e-35
    -0.108 0.166 0.111 0.164 long_before_share<0.9644 -0.00461 -0.0885;
page_long_blocks<6.5 name_3<0.4 0.0677 -0.167 links<0.1476 kind_before<10.5 0.0241
    page_long_blocks<65.5 0.0028 name_3<-0.85 -0.141 -0.00344 names<-9.934 0.0117 -0.0668;
aside<1e-35 again<1e-35 series<3.5 -0.014 page_size<3514 0.145 size_3<3.884e+04 0.021
    links_2<0.03534 -0.196 0.0862 series_mean<58.76 -0.00501 -0.13 -0.135;
kind<21 series<34.5 -0.00682 name_3<-0.85 kind_before<8.5 0.0459 -0.0652 worst_name<-0.95 0.0929
    page_long<0.3809 size_3<2428 0.0381 -0.446 0.112 -0.0892;
series_mean<20.02 -0.0318 figure<1e-35 name<-0.65 page_size<2.744e+04 0.0498 -0.0295
    series_mean<223.7 -0.0363 from_heading<30.5 0.101 links_4<0.03461 -0.0546 0.0588 -0.175;
long_4<0.6433 series<30.5 page_links<0.6843 -0.0235 links_2<0.9512 -0.0357 0.144 links_2<0.9761
    worst_name<-0.95 0.054 -0.129 -0.0596 worst_name<-1.25 0.00825 0.12;
page_links<0.2635 series_links<0.1576 worst_name<-2.35 0.0581 series_links<1e-35 -0.0354
    page_size<5.253e+04 0.0418 place<0.3379 0.0784 -0.273 -0.0607 page_links<0.3657 0.0549 -0.0103;
page_long_blocks<97.5 page_size<4.406e+04 page_long_blocks<77.5 -0.00558 page_links<0.1587
    page_links<0.02457 0.15 -0.162 0.0316 0.214 page_size<2.402e+04 0.189 kind_behind<10.5 0.0343
    -0.0757;
dl<1e-35 page_long<0.007718 table<1e-35 name<-5.95 -0.0956 0.222 -0.211 kind<1.5 -0.0925 0.00297
    page_links<0.3657 -0.202 page_long<0.02814 -0.145 0.222;
size_behind<77.5 links_3<1e-35 0.0119 links_3<0.006803 page_size<1.288e+04 0.0926 -0.233 -0.0139
    page_size<4.917e+04 copies<2.5 0.0386 -0.0788 long_before<82.5 0.0625 -0.141;
kind<3.5 size_before<23.5 -0.00966 0.0873 kind_before<3.5 0.0307 kind<9.5 series_links<1e-35
    name_2<0.75 -0.0839 0.0914 0.00779 pre<1e-35 0.00116 0.297;
kind<1e-35 -0.138 kind<2.5 0.0604 series_mean<155.1 long_2<0.143 0.00932 -0.0325 long_before<7.5
    0.104 best_name<0.75 -0.0373 links_4<0.126 0.0492 -0.0832;
nav<1e-35 ul<1e-35 names<-19.03 share_3<0.03076 0.219 -0.00451 share_3<0.03429 0.0111 -0.0248
    share_4<0.3926 0.0104 0.118 best_name<0.95 -0.108 0.154;
aside<1e-35 series<141.5 series_mean<15.01 -0.0395 footer<1e-35 size_2<40.5 0.0516 -0.000976 -0.141
    size_2<1718 series_mean<5.183 -0.114 0.17 -0.0846 -0.116;
kind<4.5 size_behind<57.5 -0.00947 0.0864 links<0.03606 size_before<1.5 -0.176 0.00843
    links_3<0.03268 -0.16 size<80.5 names<-8.239 5.96e-06 -0.0903 0.0271;
kind_behind<21 kind_behind<1.5 -0.116 worst_name<-1.55 long_2<0.5392 mean_1<224.3 0.0025 0.0916
    -0.026 0.0309 name<-1.05 best_name<0.85 -0.149 0.106 0.0196;
page_links<0.1587 page_links<0.1356 page_links<0.1081 mean_2<308.1 -0.00206 -0.0985 0.045
    series<62.5 -0.0749 -0.293 series_mean<20.02 -0.0251 series<6.5 -0.00726 0.0502;
place<0.1768 ends<1e-35 share_3<0.6106 -0.0316 -0.159 0.018 dl<1e-35 place<0.5432 0.0265 -0.000971
    series<8.5 0.104 page_links<0.3657 -0.283 0.0646;
size_before<319.5 mean_1<418.5 links_4<0.0715 0.0122 page_links<0.2635 -0.0471 0.00495
    size_before<11.5 0.0858 kind_before<3.5 0.0312 links_2<0.01219 -0.191 0.00424 0.0477;
long_before<2.5 mean_1<248.3 kind_behind<18.5 -0.0818 page_long_blocks<3.5 0.0967 -0.0341 0.104
    long_before<11.5 from_heading<-5.006e+05 0.112 0.0172 page_long_blocks<23.5 -0.0799 0.00311;
aside<1e-35 series<141.5 page_size<5238 page_links<0.04142 0.243 0.0179 -0.00654 share_3<0.1658
    0.138 links_3<0.03268 -0.112 0.109 page_links<0.1498 0.0465 -0.167;
from_heading<1e-35 from_heading<-5.006e+05 page_long_blocks<110.5 share_3<0.08694 0.0695 -0.026
    -0.134 -0.125 page_long_blocks<97.5 page_long_blocks<77.5 0.00758 -0.0567 page_size<2.402e+04
    0.172 0.0161;
page_long_blocks<97.5 series<6.5 -0.023 page_size<2.283e+04 0.0188 -0.0517 page_long<0.1821
    page_size<2.995e+04 -0.278 -0.0325 page_long_blocks<125.5 0.115 series<6.5 0.0739 -0.0362;
size_3<859.5 pre<1e-35 page_size<1.074e+04 page_long<0.3539 page_links<0.1302 0.122 0.0168 -0.139
    -0.00776 0.156 size_before<148.5 -0.0356 links<0.212 0.0372 -0.0969;
kind_behind<21 figure<1e-35 kind_before<4.5 names<-11.81 0.0925 0.0105 -0.00373 names<-4.323 -0.195
    0.115 long_4<0.5419 page_long<0.007718 0.112 -0.0979 0.0798;
ul<1e-35 worst_name<-2.65 page_size<2.085e+04 0.0447 page_size<2.402e+04 0.584 0.07 share_3<0.03429
    0.00335 name_3<-5.95 share_3<0.4559 -0.198 0.0786 -0.0235 0.0203;
kind<4.5 size_before<73.5 page_size<7898 series_links<0.02422 kind<2.5 0.0614 -0.114 0.122
    page_links<0.5096 -0.00779 page_links<0.7224 -0.198 0.0658 0.109 -0.00625;
long_4<0.6674 series<30.5 -0.0113 0.0207 page_long_blocks<125.5 long_before<1.5 -0.12 0.0664
    page_long_blocks<131.5 -0.24 page_size<4.917e+04 0.0798 long_before<58.5 0.124 -0.175;
place<0.4586 mean_1<201.2 long_2<0.9186 mean_1<16.04 -0.0367 0.0205 -0.0674 ends<1e-35 -0.0534
    0.0949 mean_1<418.5 -0.00301 size_before<425.5 -0.0951 0.076;
aside<1e-35 name_2<-5.65 series<8.5 -0.00142 series<72.5 links_4<0.7278 0.15 -0.00152 -0.123
    size_behind<29.5 -0.0145 figure<1e-35 0.0123 -0.134 -0.099;
page_links<0.6843 links_4<0.0715 0.00796 links_3<0.03655 -0.105 -0.00498 share_3<0.00624 main<1e-35
    0.0949 -0.156 from_heading<-4.5 -0.0237 mean_2<308.1 0.118 -0.0896;
size_3<859.5 0.00875 links_3<0.006803 size_3<2428 -0.00309 size_3<3999 long_4<0.4206 -0.0742 -0.381
    -0.0342 links<0.09146 long_4<0.07709 -0.123 0.0309 -0.0479;
long_4<0.6879 page_links<0.2635 page_links<0.04142 size_3<1.455e+04 0.11 -0.0887 place<0.5432
    0.00117 worst_name<-2.25 0.0293 long_before_share<0.7533 -0.0927 -0.0254 0.0146 0.0369;
kind_behind<1.5 -0.102 page_size<3514 mean_1<21.01 share_4<0.3926 -0.0859 0.0696 0.108
    from_heading<1e-35 from_heading<-5.006e+05 size_3<549.5 0.0652 -0.0513 -0.123 0.00397;
footer<1e-35 long_before<27.5 series<7.5 -0.00992 ends<1e-35 0.0026 0.0605 series<7.5 0.0176
    header<1e-35 -0.0404 0.142 long_before<1.5 0.184 -0.154;
aside<1e-35 page_size<3514 mean_2<18.34 -0.0369 0.084 name_2<0.95 page_long<0.007718 table<1e-35
    0.171 -0.188 -0.00259 again<1e-35 0.115 -0.151 -0.0993;
size_before<17.5 page_long_blocks<1e-35 share_3<0.03076 0.299 0.00857 kind_before<21 -0.0149
    -0.0984 kind<3.5 0.0483 kind_before<9.5 kind_before<3.5 0.0283 -0.0301 0.0209;
page_long_blocks<55.5 ol<1e-35 long_before<27.5 -0.00556 -0.0527 page_long_blocks<35.5 0.212
    -0.0649 worst_name<-2.35 0.0784 worst_name<-2.15 ol<1e-35 -0.0107 -0.24 0.0118;
hidden<1e-35 footer<1e-35 0.0057 -0.102 from_heading<291.5 page_long<0.5067 page_long<0.2694
    best_name<0.85 -0.084 0.163 -0.188 0.122 long_3<0.8352 0.173 -0.105;
again<1e-35 0.00417 table<1e-35 share_4<0.6108 page_long<0.1634 page_long<0.08948 share_4<0.01439
    0.00493 -0.119 0.0433 ol<1e-35 -0.157 0.132 0.0373 0.104;
dl<1e-35 kind_before<1e-35 -0.103 size_2<68.5 0.0212 -0.00438 long_4<0.5419 long_4<0.3339 kind<11.5
    series<14.5 0.199 -0.106 -0.188 0.141 -0.286;
worst_name<-1.15 share_3<0.7043 -0.0083 0.0316 best_name<0.75 mean_1<146.3 0.038 0.169
    worst_name<-0.85 links_behind<0.8794 0.0984 -0.139 share_3<0.8718 0.0252 -0.226;
page_long<0.5574 long_4<0.6879 -0.0038 article<1e-35 names<-1.308 -0.0233 0.152 series_links<0.1576
    0.128 -0.0985 names<-1.308 page_long_blocks<176.5 -0.202 0.0124 0.0879;
kind_before<1e-35 -0.102 kind_before<4.5 name_3<-2.45 long_before_share<0.5763 0.103
    share_3<0.03429 0.0714 share_3<0.05378 -0.21 0.0209 -0.00185 mean_2<52.35 0.00695 -0.0191;
share_3<0.8234 size_3<2428 0.0056 links_4<0.01908 -0.108 links<0.6488 0.0239 -0.11 names<1e-35
    from_heading<506.5 0.0554 -0.171 names<0.5466 -0.264 0.0446;
name_3<0.9 kind<1e-35 -0.107 kind<2.5 long_before_share<0.1881 -0.0296 0.083 kind<19.5 -0.0074
    page_long_blocks<110.5 0.0225 -0.088 page_long_blocks<37.5 -0.186 -0.0147;
series<141.5 page_long_blocks<97.5 series<69.5 -0.00685 main<1e-35 page_long_blocks<77.5 0.0879
    -0.188 series<76.5 -0.302 -0.0615 kind_behind<15.5 0.0437 -0.0547 0.0516;
long_before<2.5 mean_1<224.3 names<-9.62 name_2<-2.65 0.042 -0.0656 links_2<0.9231 -0.0922
    size<50.5 -0.0816 0.161 0.073 footer<1e-35 0.00824 -0.137;
page_links<0.1587 page_links<0.1562 series_links<0.04766 series_links<0.001707 -0.0183 0.0702
    links_3<0.0689 -0.098 0.000454 long_before<43.5 -0.0522 -0.327 again<1e-35 0.0153 -0.0364;
series<141.5 hidden<1e-35 0.000977 names<-13.08 0.13 page_size<5.253e+04 page_long_blocks<3.5
    0.0899 series_mean<200 -0.17 -0.0329 0.103 size_2<1286 0.0914 -0.0314;
kind_behind<1e-35 -0.112 share_4<0.00839 page_long<0.007718 0.123 -0.0409 page_long<0.08948 -0.0159
    ul<1e-35 0.00422 long_4<0.05563 -0.0427 page_long_blocks<23.5 0.203 0.0455;
share_4<0.8419 -0.0015 page_links<0.08882 links_4<0.02768 long_before<35.5 0.124 long_4<0.4206
    -0.192 0.0325 share_4<0.9513 links_4<0.04652 -0.258 0.0884 -0.00744 0.0438;
name_2<0.95 share_3<0.03429 page_long<1e-35 0.218 share_4<0.02683 name_2<-4.05 0.0506 name_3<-5.05
    0.0626 -0.0289 0.0318 links_behind<0.8794 -0.00179 -0.0445 0.0839
"""
